"""What takes time is shown on a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lookahead_cli.models.progress import ByteShare
from lookahead_cli.render import progress
from lookahead_cli.render.progress import ProgressBar


def shown(terminal: bool, *calls: tuple[str, float | None]) -> str:
    file = io.StringIO()
    with ProgressBar(Console(file=file, force_terminal=terminal, width=100, color_system=None)) as bar:
        for activity, fraction in calls:
            bar(activity, fraction)
    return file.getvalue()


def test_a_bar_with_percent_and_bytes_for_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    told = shown(True, ("downloading [x]\x1b[31m", ByteShare(25_000_000, 100_000_000)), ("converting", 0.5))
    assert "downloading [x]␛[31m" in told
    assert "25%, 25 MB of 100 MB" in told
    assert "converting" in told
    assert "50%" in told


def test_a_line_and_no_bar_for_what_does_not() -> None:
    told = shown(True, ("downloading", ByteShare(25, 100)))
    assert "downloading 25%" in told
    assert "━" not in told


def test_nothing_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert shown(False, ("downloading", None), ("downloading", ByteShare(25, 100))) == ""


def test_a_share_of_bytes_is_a_fraction_that_never_passes_one() -> None:
    assert ByteShare(25, 100) == 0.25
    assert ByteShare(25, 100).done == 25
    assert ByteShare(120, 100) == 1.0
    assert ByteShare(0, 0) == 1.0
