"""Limits of containers, read from file trees as the kernel shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.machine.limits import Limits, read_limits
from lookahead_cli.models import devices


def tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A machine whose kernel says this."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(groups)
    for name, content in files.items():
        file = root / "sys" / "fs" / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n")
    return root


def test_the_second_version_has_one_tree_and_the_narrowest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    files = {
        "cpu.max": "max 100000",
        "pod/cpu.max": "150000 100000",
        "pod/box/cpu.max": "max 100000",
        "pod/memory.max": "4000000000",
        "pod/memory.current": "3000000000",
        "pod/memory.stat": "anon 1\ninactive_file 500000000\nfile 2",
        "pod/box/memory.max": "8000000000",
        "pod/box/memory.current": "2900000000",
    }
    limits = read_limits(tree(tmp_path, "0::/pod/box\n", files))
    assert limits == Limits(cores=1.5, memory=4_000_000_000, memory_left=1_500_000_000)


def test_inside_a_container_its_own_group_is_the_root(tmp_path: Path) -> None:
    files = {"cpu.max": "200000 100000", "memory.max": "1000", "memory.current": "400"}
    assert read_limits(tree(tmp_path, "0::/\n", files)) == Limits(2.0, 1000, 600)


def test_the_first_version_has_a_tree_for_each_controller(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/box/cpu.cfs_quota_us": "50000",
        "cpu,cpuacct/box/cpu.cfs_period_us": "100000",
        "memory/box/memory.limit_in_bytes": "3000",
        "memory/box/memory.usage_in_bytes": "2000",
        "memory/box/memory.stat": "total_inactive_file 1500\n",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "1",
    }
    groups = "5:memory:/box\n4:cpu,cpuacct:/box\n1:name=systemd:/\n0::/\n"
    assert read_limits(tree(tmp_path, groups, files)) == Limits(0.5, 3000, 2500)


@pytest.mark.parametrize(
    ("groups", "files"),
    [
        ("", {}),
        ("nonsense", {"cpu.max": "1 1"}),
        ("0::/\n", {"cpu.max": "max 100000", "memory.max": "max", "memory.current": "5"}),
        ("0::/\n", {"cpu.max": "", "memory.max": "1"}),
        ("3:cpu:/\n2:memory:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}),
    ],
)
def test_without_a_limit_there_is_none(tmp_path: Path, groups: str, files: dict[str, str]) -> None:
    assert read_limits(tree(tmp_path, groups, files)) == Limits()


def test_another_system_has_none(tmp_path: Path) -> None:
    assert read_limits(tmp_path) == Limits()


def test_more_used_than_allowed_leaves_nothing(tmp_path: Path) -> None:
    files = {"memory.max": "100", "memory.current": "130"}
    assert read_limits(tree(tmp_path, "0::/\n", files)).memory_left == 0


def test_what_a_container_leaves_is_all_there_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "read_limits", lambda: Limits(memory_left=12345))
    assert devices.free_main_memory() == 12345
    monkeypatch.setattr(devices, "read_limits", Limits)
    assert devices.free_main_memory() > 12345
