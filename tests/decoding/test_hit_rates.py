"""Hit rates come to say how often guesses are right, and survive being stored."""

from __future__ import annotations

import json
import random

import pytest

from lookahead_cli.decoding.hit_rates import Assessment, HitRates
from tests.decoding.test_growth import Scripted


class Fixed(Scripted):
    """Says what it was told to."""

    def __init__(self, key: str, guesses: dict[int, int]) -> None:
        super().__init__(0)
        self.key = self.name = key
        self.said = guesses

    def guesses(self, state: object) -> dict[int, int]:
        return self.said


def assess(rates: HitRates) -> Assessment:
    assessment = rates.assess([None] * len(rates.drafters))
    assert assessment is not None
    return assessment


def test_a_single_drafter_is_expected_to_be_right_as_often_as_it_was() -> None:
    rates = HitRates([Fixed("a", {1: 3, 2: 1})])
    chooser = random.Random(0)
    for _ in range(3000):
        token = chooser.choices([1, 2, 3], [0.7, 0.1, 0.2])[0]
        rates.learn(assess(rates), token)
    probabilities = assess(rates).probabilities
    assert probabilities[1] == pytest.approx(0.7, abs=0.06)
    assert probabilities[2] == pytest.approx(0.1, abs=0.04)


def test_drafters_that_repeat_each_other_are_not_counted_twice() -> None:
    twins = [Fixed(key, {1: 3}) for key in "abc"]
    rates = HitRates(twins)
    chooser = random.Random(1)
    for _ in range(3000):
        rates.learn(assess(rates), chooser.choices([1, 2], [0.6, 0.4])[0])
    assert assess(rates).probabilities[1] == pytest.approx(0.6, abs=0.07)


def test_probabilities_never_sum_to_more_than_one() -> None:
    rates = HitRates([Fixed("a", dict.fromkeys(range(5), 9)), Fixed("b", dict.fromkeys(range(3, 9), 9))])
    assert sum(assess(rates).probabilities.values()) <= 1 + 1e-9


def test_nothing_said_nothing_expected() -> None:
    assert HitRates([Fixed("a", {})]).assess([None]) is None


def test_the_surest_drafter_gives_its_name() -> None:
    rates = HitRates([Fixed("weak", {1: 0, 2: 9}), Fixed("strong", {1: 9})])
    assert rates.strongest(assess(rates), 1) == "strong"
    assert rates.strongest(assess(rates), 2) == "weak"


def test_stored_rates_say_the_same_and_hold_numbers_only() -> None:
    drafters = [Fixed("a", {1: 3, 2: 1}), Fixed("b", {1: 2})]
    rates = HitRates(drafters)
    for token in (1, 2, 1, 1, 3, 1) * 50:
        rates.learn(assess(rates), token)
    stored = json.loads(json.dumps(rates.export()))
    again = HitRates(drafters)
    again.restore(stored)
    assert assess(again).probabilities == pytest.approx(assess(rates).probabilities, abs=0.01)
    fewer = HitRates(drafters[:1])
    fewer.restore(stored)
    assert assess(fewer).probabilities.keys() == {1, 2}


@pytest.mark.parametrize("stored", [{}, {"rates": 3}, {"rates": {"a": 1}, "silent": {}, "weights": {}}])
def test_what_was_not_stored_by_us_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises((AttributeError, KeyError)):
        HitRates([Fixed("a", {1: 1})]).restore(stored)


def test_entries_that_make_no_sense_are_passed_over() -> None:
    rates = HitRates([Fixed("a", {1: 1})])
    rates.restore(
        {
            "rates": {"a": {"x": [1, 2], "1": [90, 100], "2": [5, 2], "3": [10**400, 10**401], "4": 7}, "b": {"1": 3}},
            "silent": {"a without a": "x", "foo without foo": [1, 2], "": [1, 2]},
            "weights": {"a": [1.0, float("nan")], "a+b": [1, 2, 3], "b": "x"},
        }
    )
    assert set(rates.rates[0]) == {1}
    assert not rates.silent
    assert not rates.weights
    assert assess(rates).probabilities[1] == pytest.approx(0.9, abs=0.01)
