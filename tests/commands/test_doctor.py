"""`lookahead doctor` as its user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookahead_cli.machine import speed as speeds
from lookahead_cli.machine.limits import Limits
from tests.commands.conftest import Lookahead
from tests.commands.screens import Screen
from tests.parrot import save_parrot
from tests.tiny_models import save_tiny_llama


@pytest.fixture(scope="module")
def roomy_llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model with room for the prompt of the check."""
    folder = tmp_path_factory.mktemp("models") / "roomy"
    return str(save_tiny_llama(folder, max_position_embeddings=1024))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "DECODE_SECONDS", 0.3)
    monkeypatch.setattr(speeds, "PASS_SECONDS", 0.05)


def test_everything_is_found_out_and_the_speed_is_measured(lookahead: Lookahead, roomy_llama: str) -> None:
    outcome = lookahead("doctor", "-m", roomy_llama, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.stderr == ""
    result = json.loads(outcome.stdout)
    assert result["works"] is True
    assert result["problems"] == result["unknown"] == []
    assert result["processor"]["cores"] >= 1
    assert result["memory"]["free"] > 0
    assert result["model"]["runner"]["name"] == "lean"
    speed = result["speed"]
    assert speed["greedy"]["tokens_per_step"] == 1.0
    assert speed["greedy"]["tokens"] > 1
    assert speed["lookahead"]["tokens_per_second"] > 0
    assert speed["same_tokens"] is True
    assert set(speed["pass_milliseconds"]) == {"1", "8"}
    assert result["no_speed"] is None
    assert all(isinstance(sentence, str) for sentence in result["advice"])


def test_a_pipe_gets_plain_lines_with_the_facts_and_the_reasons(lookahead: Lookahead, roomy_llama: str) -> None:
    outcome = lookahead("doctor", "-m", roomy_llama, "--dtype", "float32", "--threads", "1")
    assert outcome.code == 0
    assert "\x1b" not in outcome.text
    lines = {line[:11].strip(): line[13:] for line in outcome.text.splitlines() if line[11:13] == "  "}
    for name in ("versions", "system", "processor", "memory", "cache", "hub cache", "model", "greedy", "a pass"):
        assert lines[name]
    assert lines["dtype"] == "float32: as asked for"
    assert lines["threads"] == "1: as asked for"
    assert lines["runner"] == "lean: its architecture, llama, is one that the lean runner computes"
    assert lines["lookahead"].endswith("the same tokens")
    assert outcome.text.splitlines()[-1] == "Ready to generate."


def test_no_speed_leaves_it_out(lookahead: Lookahead, roomy_llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "open_for_measuring", None)
    outcome = lookahead("doctor", "-m", roomy_llama, "--no-speed")
    assert outcome.code == 0
    assert "speed        not measured: it was not asked for" in outcome.text


def test_a_model_that_is_not_prepared_is_not_fetched_but_told(
    lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("lookahead_cli.models.packaged.build_once", None)
    outcome = lookahead("doctor")
    assert outcome.code == 0
    assert "model        smollm2-135m · not here yet" in outcome.text
    assert "runner       known once the model is here" in outcome.text
    assert "- smollm2-135m is not prepared yet" in outcome.text
    assert '`lookahead generate -p "hello" -m smollm2-135m` does it now' in outcome.text
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_takes_nothing_is_broken(lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(Path("file/cache").absolute()))
    outcome = lookahead("doctor", "--no-speed")
    assert outcome.code == 1
    assert "wrong:\n- the cache folder " in outcome.text
    assert "set LOOKAHEAD_CACHE to a folder that is." in outcome.text
    assert outcome.text.endswith("Something is broken: see above.\n")


def test_a_model_that_cannot_be_used_is_broken_and_the_rest_is_told(lookahead: Lookahead, tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "llama")
    (folder / "model.safetensors").write_bytes(b"cut short")
    for source, said in ((str(folder), "damaged or cut short"), ("./nowhere", "no such file or folder")):
        outcome = lookahead("doctor", "-m", source)
        assert outcome.code == 1
        assert said in outcome.text
        assert "processor" in outcome.text
        assert "Traceback" not in outcome.text + outcome.stderr


def test_options_that_are_wrong_are_told_as_ever(lookahead: Lookahead) -> None:
    outcome = lookahead("doctor", "--dtype", "float8")
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert outcome.stderr.startswith('lookahead: option --dtype: "float8" is not allowed')


def test_a_prompt_that_does_not_fit_only_costs_the_speed(lookahead: Lookahead, tmp_path: Path) -> None:
    outcome = lookahead("doctor", "-m", str(save_parrot(tmp_path / "parrot", "short")))
    assert outcome.code == 0
    assert "speed        not measured: the prompt has" in outcome.text


PROBES = [
    "machine.processor.read_processor", "machine.memory.read_memory", "machine.storage.read_cache",
    "machine.storage.read_hub_cache", "machine.storage.hub_is_offline", "machine.versions.read_versions",
    "machine.versions.variables_in_force", "machine.accelerators.read_accelerators",
    "machine.accelerators.has_idle_nvidia", "machine.choice.choose",
]  # fmt: skip


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_that_fails_is_a_sentence(lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch, probe: str) -> None:
    def fail(*_: object) -> None:
        raise OSError("a strange\nmachine")

    monkeypatch.setattr(f"lookahead_cli.{probe}", fail)
    outcome = lookahead("doctor", "--no-speed")
    assert outcome.code == 0
    assert "could not be found out: a strange." in outcome.text
    assert outcome.stderr == ""


def test_without_torch_the_rest_is_told(lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr("lookahead_cli.machine.accelerators.read_instructions", fail)
    outcome = lookahead("doctor")
    assert outcome.code == 1
    assert "- torch cannot be used (No module named 'torch')" in outcome.text
    assert "memory" in outcome.text


def test_what_a_container_leaves_is_told(lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(cores=0.5, memory=3 * 10**9, memory_left=10**9)
    monkeypatch.setattr("lookahead_cli.machine.processor.read_limits", lambda: limits)
    monkeypatch.setattr("lookahead_cli.machine.memory.read_limits", lambda: limits)
    text = lookahead("doctor", "--no-speed").text
    assert "(the limit of its container)" in text
    assert "(the container may use 3.0 GB) · 1.0 GB free" in text
    assert "only 1.0 GB of memory are free" in text


def test_on_a_very_slow_machine_there_is_a_step_of_each_and_then_an_end(
    lookahead: Lookahead, roomy_llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speeds, "MOST_SECONDS", 0.0)
    speed = json.loads(lookahead("doctor", "-m", roomy_llama, "--json").stdout)["speed"]
    assert speed["greedy"]["tokens"] >= 1
    assert speed["lookahead"]["tokens"] >= 1
    assert speed["pass_milliseconds"] == {}


def test_a_failure_at_work_only_costs_the_speed(
    lookahead: Lookahead, roomy_llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a kernel is missing")

    monkeypatch.setattr(speeds, "measure_speed", fail)
    report = lookahead("doctor", "-m", roomy_llama)
    assert report.code == 0
    assert "not measured: a kernel is missing" in report.text


@pytest.mark.slow
def test_a_terminal_shows_the_report_and_leaves_no_progress_behind(roomy_llama: str, env: dict[str, str]) -> None:
    screen = Screen("doctor", "-m", roomy_llama, env=env, lines=60)
    screen.wait_for("measuring the speed")
    assert screen.wait_for_end() == 0
    rows = screen.rows
    assert rows[0].startswith("versions")
    assert rows[-1] == "Ready to generate."
    assert any(row.startswith("lookahead") and "tokens/s" in row for row in rows)
    assert not any("measuring" in row for row in rows)


@pytest.mark.slow
def test_ctrl_c_ends_it(roomy_llama: str, env: dict[str, str]) -> None:
    screen = Screen("doctor", "-m", roomy_llama, env=env)
    screen.wait_for("loading torch")
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    assert "Traceback" not in "".join(screen.rows)
