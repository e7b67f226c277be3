"""What a run has come to, and how it is shown."""

from __future__ import annotations

import pytest

from lookahead_cli.batch.results import Failure, Result
from lookahead_cli.batch.tally import Tally
from lookahead_cli.render.batch_progress import parts
from lookahead_cli.render.progress import duration, spent


def result(number: int, fraction: float | None) -> Result:
    return Result(number, str(number), "x", "eos", 5, (1, 2, 3), ("model",) * 3, 2, 0.5, None, fraction)


def test_counts_pace_and_time_left() -> None:
    tally = Tally(started=-1e9)
    tally.add(result(0, 0.25))
    tally.add(Failure(1, "1", "x, line 2", 2, "no prompt", 0.5))
    assert (tally.done, tally.failed, tally.tokens, tally.steps) == (1, 1, 3, 2)
    assert tally.tokens_per_step == 1.5
    assert tally.seconds_left == pytest.approx(tally.seconds, rel=1e-6), "half of it is done"
    line = " ".join(parts(tally))
    assert "1 done" in line
    assert "1 failed" in line
    assert "1.50 tokens per step" in line
    assert " left" in line


def test_nobody_knows_how_much_is_left_of_a_pipe_or_before_anything_was_done() -> None:
    tally = Tally()
    assert tally.seconds_left is None
    tally.add(result(0, None))
    assert tally.seconds_left is None
    assert not any("left" in part for part in parts(tally))


def test_what_an_earlier_run_has_done_does_not_make_this_one_look_fast() -> None:
    tally = Tally(known=90, started=-1e9)
    tally.add(result(90, 0.91))
    assert tally.seconds_left is None
    tally.add(result(91, 0.92))
    assert tally.seconds_left == pytest.approx(8 * tally.seconds, rel=1e-6)


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (65, "1:05"), (3599.6, "1:00:00"), (7200, "2:00:00")])
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.04, "0.0 s"), (0.61, "0.6 s"), (9.9, "9.9 s"), (75, "1:15")])
def test_a_short_time_that_is_over_has_a_fraction(seconds: float, shown: str) -> None:
    assert spent(seconds) == shown
