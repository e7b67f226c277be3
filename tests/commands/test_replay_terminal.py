"""Explained steps and replays in a real pseudo-terminal: what the screen shows."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.commands.conftest import TEXT, Lookahead
from tests.commands.screens import COLUMNS, LOOKAHEAD, PATIENCE, Screen
from tests.parrot import PROMPT


def generate(model: str, *more: str) -> list[str]:
    return ["generate", "-m", model, "--raw", "-p", PROMPT, "-n", "2000", "--strategy", "jacobi", "-k", "6", *more]


@pytest.fixture
def trace(parrot: Lookahead, tmp_path: Path) -> str:
    """A trace of the model that says TEXT, made to last for some seconds."""
    path = tmp_path / "trace.jsonl"
    parrot("--strategy", "jacobi", "-k", "6", "--trace", str(path))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    for line in lines[1:-1]:
        line["seconds"] = 0.05
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def cells_of(screen: Screen, row: int) -> list[tuple[str, str, bool, bool, bool]]:
    """Character, colour, and whether it is bold, reverse and struck through, for each column."""
    line = screen.screen.buffer[row]
    return [
        (cell.data, str(cell.fg), cell.bold, cell.reverse, cell.strikethrough)
        for cell in (line[column] for column in range(screen.screen.columns))
    ]


@pytest.mark.slow
def test_explained_steps_are_coloured_by_what_became_of_each_token(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "--explain"), env=env, lines=200)
    assert screen.wait_for_end() == 0
    rows = [row.rstrip() for row in screen.screen.display]
    first = next(number for number, row in enumerate(rows) if row.startswith("   1 "))
    assert all(cell_len(row) <= COLUMNS for row in rows)
    # Nothing is known at first, so the window repeats the prompt.
    begin = rows[first].index("▸") + 2
    cells = cells_of(screen, first)
    assert rows[first][begin:].startswith("H{p·p·p")
    assert cells[begin][2:4] == (True, True), "the model's own token is bold and reverse"
    wrong = rows[first].index("{") + 1
    assert cells[wrong][4], "a rejected guess is struck through"
    accepted = [
        cells_of(screen, number)[rows[number].index("▸") + 2]
        for number in range(first, len(rows))
        if re.match(r" +\d+ +[\d.]+ ms .*jacobi [1-9]/", rows[number])
    ]
    assert len(accepted) > 3
    assert {color for _, color, *_ in accepted} == {"green"}
    whole = "\n".join(rows)
    assert "the end." in whole
    assert "accepted guesses: ■ jacobi" in whole
    assert "the model ended the text" in whole


@pytest.mark.slow
def test_without_colours_there_are_signs(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "--explain"), env={**env, "NO_COLOR": "1"}, columns=60, lines=200)
    assert screen.wait_for_end() == 0
    rows = [row.rstrip() for row in screen.screen.display]
    [first] = [row for row in rows if row.startswith("   1 ")]
    assert re.search(r"▸ \+H\{✗", first)
    assert any("✓" in row for row in rows if re.match(r" +\d+ +[\d.]+ ms", row))
    assert all(cells == ("default", False, False, False) for cells in {cell[1:] for cell in cells_of(screen, 5)})


@pytest.mark.slow
def test_ctrl_c_ends_the_wait_after_a_step_at_once(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "--explain", "--step-delay", "60"), env=env)
    screen.wait_for(r"   1 .*jacobi")
    time.sleep(0.3)
    started = time.monotonic()
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    assert time.monotonic() - started < 30
    shown = " ".join(screen.rows)
    assert "interrupted" in shown
    assert "Traceback" not in shown


def test_a_replay_looks_like_the_generation_did(trace: str, env: dict[str, str]) -> None:
    screen = Screen("replay", trace, "--speed", "max", env=env)
    assert screen.wait_for_end() == 0
    assert screen.rows[0].startswith(TEXT.partition(" 日")[0])
    assert "the end." in screen.rows
    shown = " ".join(screen.rows[-5:])
    for part in ("accepted guesses: ■ jacobi", "tokens per step", "decode", "the model ended the text"):
        assert part in shown
    # The first tokens are a character each; those of the steps before the first accepted guess are the model's own.
    steps = [json.loads(line) for line in Path(trace).read_text().splitlines()[2:-1]]
    own = next(place for place, step in enumerate(steps) if step["path"])
    assert [screen.color_at(0, column) for column in range(own + 1)] == ["default"] * own + ["cyan"]


@pytest.mark.slow
def test_a_replay_takes_the_time_that_was_recorded(trace: str, env: dict[str, str]) -> None:
    steps = Path(trace).read_text().count('"event": "step"')
    took = {}
    for speed in ("1", "max"):
        started = time.monotonic()
        assert Screen("replay", trace, "--speed", speed, env=env).wait_for_end() == 0
        took[speed] = time.monotonic() - started
    assert took["1"] - took["max"] > 0.05 * steps / 2


@pytest.mark.slow
def test_ctrl_c_during_a_replay_keeps_what_was_shown(trace: str, env: dict[str, str]) -> None:
    screen = Screen("replay", trace, "--speed", "0.2", env=env)
    screen.wait_for("H")
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    assert screen.rows[0].startswith("H")
    shown = " ".join(screen.rows)
    assert "interrupted" in shown
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_trace_of_a_killed_program_is_played_as_far_as_it_goes(
    parrot_folder: str, env: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "killed.jsonl"
    asked = [*LOOKAHEAD, *generate(parrot_folder, "--trace", str(path), "--step-delay", "0.1")]
    process = subprocess.Popen(asked, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().count(b"\n") > 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=PATIENCE)
    ended = subprocess.run(
        [*LOOKAHEAD, "replay", str(path)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert ended.stdout
    assert TEXT.startswith(ended.stdout)
    assert "the trace" in ended.stderr
