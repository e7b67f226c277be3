"""What takes long is shown on a terminal, and only there."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from lookahead_cli.models.progress import ByteShare
from lookahead_cli.render.progress import ProgressStatus, share
from lookahead_cli.render.terminal import styled_console
from tests.commands.screens import Screen, terminal_environment
from tests.render.themed import themed

BEGIN = """
import time
from lookahead_cli.profile import DisplaySettings
from lookahead_cli.render.progress import ProgressStatus
from lookahead_cli.render.terminal import console

print("ready", flush=True)
with ProgressStatus(console("stderr", DisplaySettings(quiet=QUIET)), UNSEEN_FOR) as progress:
"""


def screen(tmp_path: Path, activity: str, columns: int = 80, unseen_for: float = 0.2, quiet: bool = False) -> Screen:
    """A terminal in which that goes on."""
    script = BEGIN.replace("UNSEEN_FOR", str(unseen_for)).replace("QUIET", str(quiet)) + f"    {activity}\n"
    env = terminal_environment(tmp_path) | {"PYTHONPATH": ":".join(sys.path)}
    shown = Screen(env=env, columns=columns, program=[sys.executable, "-c", f"{script}print('over')"])
    shown.wait_for("ready")
    return shown


def test_what_is_over_soon_is_not_shown(tmp_path: Path) -> None:
    shown = screen(tmp_path, "progress('loading'); progress('loading', 0.5)", unseen_for=30)
    shown.process.expect_exact("\r\nover\r\n")
    assert shown.process.before == "", "not even a cursor is hidden"


def test_what_takes_long_is_shown_with_its_time_and_leaves_nothing(tmp_path: Path) -> None:
    shown = screen(tmp_path, "progress('loading torch'); time.sleep(1.3)")
    shown.wait_for("loading torch.*0:01")
    assert re.fullmatch(r". loading torch +0:01", shown.rows[-1])
    assert shown.wait_for_end() == 0
    assert shown.rows == ["ready", "over"]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 50])
def test_a_bar_shows_how_much_is_done_and_how_long_it_will_take(tmp_path: Path, columns: int) -> None:
    shown = screen(
        tmp_path,
        "[(progress(f'{n} of 40 prompts', n / 40), time.sleep(0.1)) for n in range(30)]; time.sleep(0.3)",
        columns,
    )
    shown.wait_for("29 of 40 prompts.*0:03.*left")
    rows = [row for row in shown.rows if row != "ready"]
    assert len(rows) == 1, "a line, on a narrow terminal too"
    assert re.fullmatch(r". 29 of 40 prompts ━+.*72% 0:03, 0:0\d left", rows[0].replace("…", "━")), rows
    assert shown.wait_for_end() == 0
    assert shown.rows == ["ready", "over"]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(4))
def test_ctrl_c_is_heard_at_once_and_gives_the_cursor_back(tmp_path: Path, attempt: int) -> None:
    shown = screen(tmp_path, "progress('loading', 0.5); time.sleep(60)")
    shown.wait_for("50%")
    before = time.monotonic()
    shown.process.sendintr()
    shown.wait_for_end()
    assert time.monotonic() - before < 20
    assert not shown.screen.cursor.hidden


def test_nothing_is_drawn_in_a_pipe_nor_if_it_is_to_be_quiet() -> None:
    pipe = themed("default", terminal=False)
    quiet = styled_console(themed("default").file, "truecolor", "default", quiet=True)  # type: ignore[arg-type]
    for console in (pipe, quiet):
        with ProgressStatus(console, unseen_for=0) as progress:
            progress("loading", 0.5)
            assert not progress.timer.is_alive()
            progress.bar.refresh()
        assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_another_activity_has_a_clock_of_its_own_and_one_that_goes_on_keeps_it() -> None:
    with ProgressStatus(themed("default"), unseen_for=60) as progress:

        def clock(activity: str, fraction: float | None = None) -> float | None:
            progress(activity, fraction)
            (task,) = progress.bar.tasks
            assert (task.description, task.completed) == (activity, fraction or 0)
            assert task.total == (None if fraction is None else 1)
            return task.start_time

        loading = clock("loading")
        assert clock("loading") == loading
        first = clock("1 of 3", 1 / 3)
        assert first != loading
        assert clock("2 of 3", 2 / 3) == first
        assert clock("checking", 0.0) != first
        assert clock("warming up") != first


def test_a_share_of_bytes_is_told_as_such() -> None:
    assert share(ByteShare(25_000_000, 100_000_000)) == "25%, 25 MB of 100 MB"
    assert share(0.5) == "50%"
    assert share(None) == ""


def test_a_share_of_bytes_is_a_fraction_that_never_passes_one() -> None:
    assert ByteShare(25, 100) == 0.25
    assert ByteShare(25, 100).done == 25
    assert ByteShare(120, 100) == 1.0
    assert ByteShare(0, 0) == 1.0


def test_what_is_shown_cannot_steer_the_terminal() -> None:
    with ProgressStatus(themed("default"), unseen_for=60) as progress:
        progress("loading \x1b[2J[bold]")
        assert progress.bar.tasks[0].description == "loading ␛[2J[bold]"
