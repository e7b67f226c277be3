"""What is said to be used is what loading uses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lookahead_cli.errors import ModelError
from lookahead_cli.machine import choice
from lookahead_cli.machine.choice import choose
from lookahead_cli.models import devices, loading
from lookahead_cli.models.devices import name_of
from lookahead_cli.models.loading import load
from lookahead_cli.models.sources import locate
from lookahead_cli.profile import ModelSettings
from lookahead_cli.session import wish_for
from tests.tiny_models import save_tiny_llama, write_tiny_gguf


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_llama(tmp_path_factory.mktemp("models") / "llama"))


@pytest.mark.parametrize("runner", ["auto", "lean", "transformers"])
@pytest.mark.parametrize("dtype", ["auto", "float32", "bfloat16"])
def test_the_choice_is_that_of_loading(llama: str, runner: str, dtype: str) -> None:
    settings = ModelSettings.model_validate({"source": llama, "runner": runner, "dtype": dtype})
    chosen = choose(settings)
    loaded = load(Path(llama), wish_for(settings, Path(llama), None, frozenset()))
    assert chosen.folder == loaded.folder
    assert chosen.runner is not None
    assert chosen.dtype is not None
    assert (chosen.runner.name, chosen.dtype.name) == (loaded.runner_name, name_of(loaded.dtype))
    assert chosen.device.name == str(loaded.device)
    assert (runner == "auto") == (chosen.runner.why != choice.ASKED)
    assert dtype == "auto" or chosen.dtype.why.startswith(choice.ASKED)
    assert chosen.threads.name == str(torch.get_num_threads())


def test_float32_is_used_for_want_of_bfloat16(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "multiplies_bfloat16", lambda: False)
    chosen = choose(ModelSettings(source=llama))
    assert chosen.dtype is not None
    assert chosen.dtype.name == "float32"
    assert "does not multiply bfloat16" in chosen.dtype.why
    assert chosen.weights is not None
    assert chosen.weights.name == "full"
    assert "works with bfloat16" in chosen.weights.why


def test_float32_is_used_where_bits_would_not_keep(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "multiplies_bfloat16", lambda: True)
    said = {torch.bfloat16: "sums differ", torch.float32: None}
    monkeypatch.setattr("lookahead_cli.models.lean.exactness.dependent_rows", lambda _, dtype, __: said[dtype])
    chosen = choose(ModelSettings(source=llama))
    assert chosen.dtype is not None
    assert (chosen.dtype.name, chosen.dtype.why) == ("float32", "in bfloat16 sums differ")


def test_full_weights_are_used_if_they_are_asked_for(llama: str) -> None:
    chosen = choose(ModelSettings(source=llama, weights="full"))
    assert chosen.weights == choice.Chosen("full", choice.ASKED)


def test_why_transformers_runs_a_model_is_said(llama: str, tmp_path: Path) -> None:
    config = tmp_path / "other" / "config.json"
    config.parent.mkdir()
    for file in Path(llama).iterdir():
        (config.parent / file.name).write_bytes(file.read_bytes())
    config.write_text(config.read_text().replace('"silu"', '"gelu"'))
    chosen = choose(ModelSettings(source=str(config.parent)))
    assert chosen.runner is not None
    assert chosen.runner.name == "transformers"
    assert "the lean runner does not take it: it computes the activation silu only" in chosen.runner.why
    with pytest.raises(ModelError, match="the lean runner does not take"):
        choose(ModelSettings(source=str(config.parent), runner="lean"))


def test_a_model_that_is_not_here_is_told_and_nothing_is_fetched(cache: Path) -> None:
    packaged = choose(ModelSettings())
    assert packaged.folder is None
    assert packaged.absence is not None
    assert packaged.absence.startswith("smollm2-135m is not prepared yet: the first use fetches 93 MB")
    assert [packaged.runner, packaged.dtype, packaged.weights, packaged.memory] == [None] * 4
    hub = choose(ModelSettings(source="owner/no-such-model-anywhere", revision="v1"))
    assert hub.absence is not None
    assert "owner/no-such-model-anywhere at revision v1 is not in the hub's cache" in hub.absence
    assert not cache.exists()


def test_a_gguf_file_is_ready_once_it_has_been_converted(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf")
    before = choose(ModelSettings(source=str(file)))
    assert before.absence == f"{file} has not been converted yet: the first use does that, once"
    folder = locate(str(file))
    assert choose(ModelSettings(source=str(file))).folder == folder


@pytest.mark.parametrize("source", ["./nowhere", "smollm", " "])
def test_a_model_that_cannot_be_used_is_refused_as_ever(source: str) -> None:
    with pytest.raises(ModelError):
        choose(ModelSettings(source=source))


def test_threads_are_those_that_are_asked_for(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        assert choose(ModelSettings(source=llama, threads=2)).threads == choice.Chosen("2", choice.ASKED)
        assert torch.get_num_threads() == 2
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert "OMP_NUM_THREADS says so" in choose(ModelSettings(source=llama)).threads.why
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("runner", ["lean", "transformers"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_is_that_of_the_weights_in_the_dtype_they_are_computed_in(llama: str, runner: str, dtype: str) -> None:
    settings = ModelSettings.model_validate({"source": llama, "runner": runner, "dtype": dtype})
    chosen = choose(settings)
    loaded = load(Path(llama), wish_for(settings, Path(llama), None, frozenset()))
    assert chosen.memory == loaded.parameters * getattr(torch, dtype).itemsize


def test_spreading_names_all_devices(llama: str) -> None:
    chosen = choose(ModelSettings(source=llama, device="spread"))
    assert chosen.device.name == loading.SPREAD
    assert chosen.runner is not None
    assert chosen.runner.name == "transformers"
    assert "spread over several" in chosen.runner.why
