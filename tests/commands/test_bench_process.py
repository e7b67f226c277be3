"""`lookahead bench` as a process of its own: Ctrl-C, going on after it, and readers that leave."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands.screens import LOOKAHEAD, PATIENCE, Screen
from tests.tiny_models import save_tiny_llama

PROMPTS = 40
CONTESTANTS = ["greedy", "lookahead:k=4"]


@pytest.fixture(scope="module")
def long_llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model with room for a contest of some seconds."""
    return str(save_tiny_llama(tmp_path_factory.mktemp("models") / "llama", max_position_embeddings=512))


def bench(tmp_path: Path, model: str, *more: str) -> list[str]:
    prompts = tmp_path / "prompts.jsonl"
    lines = [{"prompt": f"hello {number}", "category": "ab"[number % 2]} for number in range(PROMPTS)]
    prompts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    contest = [argument for name in CONTESTANTS for argument in ("--with", name)]
    return ["bench", "--prompts", str(prompts), "-m", model, "-n", "120", *contest, *more]


def started(arguments: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LOOKAHEAD, *arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.slow
def test_ctrl_c_prints_and_saves_what_there_is_and_resume_measures_the_rest(
    tmp_path: Path, long_llama: str, env: dict[str, str]
) -> None:
    records, rows = tmp_path / "runs.jsonl", tmp_path / "runs.csv"
    asked = bench(tmp_path, long_llama, "-o", str(records), "--csv", str(rows))
    process = started(asked, env)
    ends_at = time.monotonic() + PATIENCE
    while len(lines_of(records)) < 1 + len(CONTESTANTS):
        assert time.monotonic() < ends_at
        assert process.poll() is None, process.stderr
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, stderr
    content = records.read_text()
    assert content.endswith("\n")
    _, *runs = map(json.loads, content.splitlines())
    prompts = len(runs) // len(CONTESTANTS)
    assert len(runs) == prompts * len(CONTESTANTS)
    assert 0 < prompts < PROMPTS
    assert stderr == (
        f"note: cut short, this is what {prompts} of {PROMPTS} prompts came to; --resume goes on from here\n"
    )
    for part in (f"{prompts} prompt", "where the time goes", f"{prompts}/{prompts}"):
        assert part in stdout
    assert len(lines_of(rows)) == 1 + len(runs)

    resumed = subprocess.run(
        [*LOOKAHEAD, *asked, "--resume"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert f"{prompts} of {PROMPTS} prompts were there already" in resumed.stderr
    assert f"{PROMPTS} prompts" in resumed.stdout
    assert records.read_text().startswith(content)
    _, *runs = map(json.loads, lines_of(records))
    expected = [(prompt, name) for prompt in range(PROMPTS) for name in CONTESTANTS]
    assert [(run["prompt"], run["contestant"]) for run in runs] == expected
    assert all(run["differs_at"] is None for run in runs)
    assert len(lines_of(rows)) == 1 + len(runs)


def test_a_reader_that_leaves_ends_it_silently_and_files_are_written(
    tmp_path: Path, long_llama: str, env: dict[str, str]
) -> None:
    rows = tmp_path / "runs.csv"
    asked = bench(tmp_path, long_llama, "--limit", "2", "--csv", str(rows))
    process = started(asked, env)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 141
    assert process.stderr.read() == ""
    process.stderr.close()
    assert len(lines_of(rows)) == 1 + 2 * len(CONTESTANTS)


def test_notes_that_nobody_reads_do_not_cost_the_tables(tmp_path: Path, long_llama: str, env: dict[str, str]) -> None:
    process = started(bench(tmp_path, long_llama, "--limit", "2", "--with", "nar:k=4"), env)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stderr.close()  # where the note that `nar` is lossy would go
    assert "where the time goes" in process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 0


def test_on_a_terminal_there_is_progress_and_then_the_tables(
    tmp_path: Path, long_llama: str, env: dict[str, str]
) -> None:
    screen = Screen(*bench(tmp_path, long_llama, "--limit", "6"), env=env)
    screen.wait_for(" of 6 prompts")
    assert screen.wait_for_end() == 0
    shown = "\n".join(screen.rows)
    assert "by category" in shown
    assert "prompts 100%" not in shown, "progress leaves nothing behind"


def test_a_narrow_terminal_breaks_lines_rather_than_leave_names_out(
    tmp_path: Path, long_llama: str, env: dict[str, str]
) -> None:
    screen = Screen(*bench(tmp_path, long_llama, "--limit", "2"), env=env, columns=50, lines=60)
    assert screen.wait_for_end() == 0
    shown = "\n".join(screen.rows)
    assert " greedy " in shown
    assert "…" not in shown
