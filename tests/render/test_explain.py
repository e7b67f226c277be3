"""Explained steps, with colours, without, and in few characters."""

from __future__ import annotations

import io
import re

from rich.cells import cell_len
from rich.console import Console

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.profile import DisplaySettings, Settings
from lookahead_cli.render.explain import ExplainRenderer
from lookahead_cli.render.palette import console_theme
from tests.made_steps import step_of
from tests.render.themed import themed

DRAFT = Draft((1, 2, 3, 4), (-1, -1, 0, 2), ("copies", "jacobi", "copies", "copies"))
STEPS = [step_of(DRAFT, (0,), own=5, seconds=0.0234), step_of(Draft(), (), own=6, seconds=1.5)]
WORDS = {0: "\n", 1: " 日本", 2: " cat", 3: "\x1b[2J", 4: " é", 5: " sat", 6: "."}


def explained(
    *steps: StepEvent, width: int = 100, encoding: str = "utf-8", color: bool = False, terminal: bool = True,
    stats: bool = True,
) -> str:  # fmt: skip
    """What is printed for the steps, on stdout."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="\n")
    output = Console(
        file=file, force_terminal=terminal, width=width, color_system="standard" if color else None, no_color=not color,
        highlight=False, markup=False, emoji=False, theme=console_theme("default", "standard"),
    )  # fmt: skip
    settings = Settings(display=DisplaySettings(stats=stats))
    renderer = ExplainRenderer(output, themed("default", terminal=False), settings, 0, WORDS.__getitem__)
    generation = Generation([0], iter(steps))
    for event in generation:
        assert isinstance(event, StepEvent)
        renderer.show(event)
    renderer.close(generation)
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


def test_a_line_has_number_time_last_token_what_came_and_the_drafters() -> None:
    lines = explained(*STEPS).splitlines()
    assert lines[4:6] == [
        "   1    23.4 ms             ⏎ ▸ ✓␣日本{✗␣cat} +␣sat{✗␛[2J·␣é} (copies 1/3, jacobi 0/1)",
        "   2  1500.0 ms          ␣sat ▸ +.",
    ]
    assert lines[6:] == ["", "<1><5><6>"], "at the end there is the whole text"


def test_the_legend_fits_a_terminal_of_80_columns_and_goes_with_the_summary() -> None:
    legend = explained(*STEPS, width=80).splitlines()[:4]
    assert all(cell_len(row) <= 80 for row in legend)
    assert legend[1] == "✓accepted guess   +the model's own token   {✗rejected│✗guesses} for that place"
    assert legend[3] == ""
    assert explained(*STEPS, stats=False).startswith("   1 ")


def test_colours_take_the_place_of_signs() -> None:
    printed = explained(*STEPS, color=True)
    assert not set("✓✗+") & set(printed)
    assert "\x1b[32m␣日本\x1b[0m" in printed
    assert "\x1b[2;9m␣cat\x1b[0m" in printed
    assert "\x1b[1;7m␣sat\x1b[0m" in printed
    assert re.sub(r"\x1b\[[\d;]*m", "", printed).count("\x1b") == 0


def test_without_colours_nothing_but_text_is_printed() -> None:
    assert "\x1b" not in explained(*STEPS)


def test_long_steps_go_on_below_on_a_terminal_and_stay_one_line_in_a_pipe() -> None:
    long = step_of(Draft.chain([1, 2, 4] * 20, "jacobi"), tuple(range(40)), own=5)
    rows = explained(long, width=60, stats=False).splitlines()
    rows = rows[: rows.index("")]
    assert len(rows) > 3
    assert all(cell_len(row) <= 60 for row in rows)
    assert all(row.startswith(" " * 25) for row in rows[1:])
    [row] = explained(long, terminal=False, stats=False).splitlines()[:-2]
    assert cell_len(row) > 300
    assert sum(row.count(f"✓{word}") for word in ("␣日本", "␣cat", "␣é")) == 40


def test_terminals_that_know_few_characters_can_still_tell_tokens_apart() -> None:
    rows = explained(*STEPS, encoding="latin-1").splitlines()
    assert rows[4] == r"   1    23.4 ms            \n > =_??{-_cat} +_sat{-?[2J._é} (copies 1/3, jacobi 0/1)"
    assert "{-rejected|-guesses}" in rows[1]


def test_a_generation_without_steps_prints_nothing() -> None:
    assert explained() == ""
