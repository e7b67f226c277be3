"""What is found out about the machine at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from lookahead_cli.machine import processor as processors
from lookahead_cli.machine.accelerators import read_accelerators, read_instructions
from lookahead_cli.machine.limits import Limits
from lookahead_cli.machine.memory import read_memory
from lookahead_cli.machine.processor import read_processor
from lookahead_cli.machine.storage import read_storage
from lookahead_cli.machine.versions import read_versions, variables_in_force


def test_the_processor_has_a_name_and_cores_and_says_what_keeps_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    free = read_processor(Limits())
    assert free.name
    assert 1 <= free.usable <= free.cores
    tight = read_processor(Limits(cores=0.5))
    assert (tight.usable, tight.limited_by) == (0.5, "the limit of its container")
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    bound = read_processor(Limits())
    assert (bound.cores, bound.usable, bound.limited_by) == (64, 2, "bound to them")


def test_a_processor_that_nobody_names_is_told_by_its_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processors, "CPU_INFO", tmp_path / "none")
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "sparc")
    assert processors.processor_name() == "sparc"


def test_memory_is_that_of_the_container_where_it_is_less() -> None:
    whole = read_memory(Limits())
    assert 0 < whole.free <= whole.total
    assert whole.limit is None
    tight = read_memory(Limits(memory=1000, memory_left=400))
    assert (tight.total, tight.free, tight.limit) == (whole.total, 400, 1000)


def test_instructions_are_those_that_torch_sees() -> None:
    found = read_instructions()
    assert found.kernels == torch.backends.cpu.get_cpu_capability()
    assert ("AVX512" in found.names) >= ("AVX512-BF16" in found.names)
    assert len(read_accelerators()) == torch.cuda.device_count() + torch.backends.mps.is_available()


def test_a_folder_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_bytes(b"12345")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b" / "x")
    found = read_storage(tmp_path / "a")
    assert 5 <= found.size < 5 + 4096
    assert found.free > 0
    assert found.obstacle is None
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b", "link"]


def test_a_folder_that_is_not_there_yet_is_judged_by_what_is(tmp_path: Path) -> None:
    found = read_storage(tmp_path / "not" / "yet")
    assert (found.size, found.obstacle) == (0, None)
    assert not (tmp_path / "not").exists()
    (tmp_path / "file").write_text("")
    assert read_storage(tmp_path / "file" / "inside").obstacle is not None


def test_versions_are_told_and_secrets_are_not() -> None:
    versions = read_versions()
    assert versions["torch"] == torch.__version__
    environ = {"LOOKAHEAD_K": "4", "HF_TOKEN": "secret", "HF_HUB_OFFLINE": "1", "PATH": "x", "OMP_NUM_THREADS": ""}
    assert variables_in_force(environ) == {"LOOKAHEAD_K": "4", "HF_HUB_OFFLINE": "1"}
