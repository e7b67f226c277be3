"""What Ctrl-C ends, and what it does not."""

from __future__ import annotations

import signal

import pytest

from lookahead_cli.commands import interrupts
from lookahead_cli.commands.interrupts import interrupts_end_attempts, stops_noted


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_what_is_attempted_and_means_nothing_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "HELD_DOWN", 0)
    done = []
    before = signal.getsignal(signal.SIGINT)
    with interrupts_end_attempts() as attempt:
        press_ctrl_c()
        assert attempt(lambda: done.append("first"))
        assert not attempt(press_ctrl_c)
        press_ctrl_c()
        assert not attempt(press_ctrl_c)
        assert attempt(lambda: done.append("last"))
    assert done == ["first", "last"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_key_that_is_held_down_counts_once() -> None:
    cleared = []

    def interrupted() -> None:
        try:
            press_ctrl_c()
        finally:
            press_ctrl_c()
            cleared.append("up")

    with interrupts_end_attempts() as attempt:
        assert not attempt(interrupted)
    assert cleared == ["up"]


def test_other_failures_of_an_attempt_are_raised() -> None:
    with interrupts_end_attempts() as attempt, pytest.raises(ZeroDivisionError):
        attempt(lambda: 1 / 0)  # type: ignore[arg-type]


def test_a_stop_is_noted_first_then_raised_once() -> None:
    with stops_noted() as stopped:
        assert not stopped()
        press_ctrl_c()
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
        press_ctrl_c()
        assert stopped()
