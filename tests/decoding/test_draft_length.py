"""How many tokens a draft model guesses: as many as pay, none if it is of no use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.draft_length import MOST_AUTO_GUESSES, AcceptanceRate, DraftLength, best_length

PLAIN = 0.1
"""Seconds of a step without guesses."""


def after_steps(count: int, right: float, guess_seconds: float, length: DraftLength | None = None) -> list[int]:
    """Numbers of guesses chosen in `count` steps, of which the first `right` (a fraction) are accepted."""
    length = length or DraftLength(None)
    chosen = []
    for _ in range(count):
        k = length.choose(64)
        for _ in range(k):
            length.guessed(guess_seconds)
        length.verified(k, int(right * k), PLAIN)
        chosen.append(k)
    return chosen


@given(st.floats(0, 1), st.floats(0.01, 2))
def test_the_best_length_is_that_of_theorem_3_8(acceptance: float, cost: float) -> None:
    def speed(k: int) -> float:
        return sum(acceptance**guesses for guesses in range(k + 1)) / (1 + k * cost)

    best = best_length(acceptance, cost, [1.0] * 17)
    assert speed(best) == pytest.approx(max(map(speed, range(17))))


def test_an_example_of_the_paper() -> None:
    """Table 1: with an acceptance of 0.8 and guesses that cost next to nothing 5 guesses give 3.69 tokens a step."""
    assert sum(0.8**k for k in range(6)) == pytest.approx(3.69, abs=0.005)
    assert best_length(0.8, 0.0, [1.0] * 6) == 5


def test_steps_that_get_dearer_with_their_width_shorten_a_draft() -> None:
    level, rising = [1.0] * 17, [1 + 0.1 * nodes for nodes in range(17)]
    assert 0 < best_length(0.7, 0.05, rising) < best_length(0.7, 0.05, level)
    assert best_length(0.7, 0.05, [1.0]) == 0


def test_a_useless_draft_model_is_soon_asked_no_more_and_tried_again_rarely() -> None:
    chosen = after_steps(400, right=0.0, guess_seconds=0.3 * PLAIN)
    assert chosen[0] > 0
    assert max(chosen[20:]) <= 1
    assert 0 < sum(chosen[100:]) < 30


def test_the_dearer_a_useless_guess_the_more_rarely_it_is_tried() -> None:
    cheap, dear = (sum(after_steps(400, 0.0, cost * PLAIN)[100:]) * cost for cost in (0.1, 0.8))
    for lost in (cheap, dear):
        assert lost < 0.03 * 300, "no more than a few hundredths of the time is lost"


def test_a_perfect_draft_model_is_asked_for_as_much_as_may_be() -> None:
    chosen = after_steps(60, right=1.0, guess_seconds=0.05 * PLAIN)
    assert 0 in chosen[:3], "how long a plain step takes is measured first"
    assert chosen[-10:] == [MOST_AUTO_GUESSES] * 10


def test_a_perfect_draft_model_that_is_as_slow_as_the_model_does_not_pay() -> None:
    assert max(after_steps(100, right=1.0, guess_seconds=1.1 * PLAIN)[10:]) == 0


def test_a_draft_model_that_gets_better_is_found_out() -> None:
    length = DraftLength(None)
    after_steps(100, 0.0, 0.2 * PLAIN, length)
    assert after_steps(400, 1.0, 0.2 * PLAIN, length)[-1] == MOST_AUTO_GUESSES


def test_times_from_a_bad_moment_are_seen_through() -> None:
    """A plain step that took long lets guesses look cheap, a guess that took long lets them look dear."""
    length = DraftLength(None)
    length.verified(0, 0, PLAIN)
    length.verified(0, 0, 20 * PLAIN)
    assert max(after_steps(100, 0.0, 0.3 * PLAIN, length)[10:]) <= 1
    length = DraftLength(None)
    length.guessed(20 * PLAIN)
    assert after_steps(300, 1.0, 0.1 * PLAIN, length)[-1] == MOST_AUTO_GUESSES


def test_a_number_stays_whatever_happens() -> None:
    length = DraftLength(5)
    assert after_steps(20, 0.0, 10.0, length) == [5] * 20
    assert length.choose(3) == 3


def test_behind_the_first_wrong_guess_nothing_is_learned() -> None:
    rate = AcceptanceRate()
    for _ in range(500):
        rate.add(drafted=8, accepted=2)
    assert rate.value == pytest.approx(2 / 3, abs=0.01)
