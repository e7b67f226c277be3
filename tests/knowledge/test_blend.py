"""What earlier runs have learned counts for no more than what ships."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.hit_rates import REMEMBERED
from lookahead_cli.knowledge.blend import MOST_TRIALS, blended
from lookahead_cli.knowledge.store import SHIPPED_RATES, read_rates


def exported(rate: Any = (1, 4), weights: Any = (0.5, 0.1)) -> dict[str, Any]:
    return {
        "rates": {"copies": {"3": rate}},
        "silent": {"copies without n-grams": rate},
        "weights": {"copies": weights},
    }


trials = st.integers(0, int(2 * REMEMBERED))
rates = trials.flatmap(lambda most: st.tuples(st.integers(0, most), st.just(most)))


@given(rates, rates)
def test_a_rate_lies_between_the_two(kept: tuple[int, int], shipped: tuple[int, int]) -> None:
    found = blended(exported(kept), exported(shipped))
    for hits, count in (found["rates"]["copies"]["3"], found["silent"]["copies without n-grams"]):
        assert 0 <= count <= 2 * MOST_TRIALS + 1e-6
        assert 2 * MOST_TRIALS <= REMEMBERED
        known = [part[0] / part[1] for part in (kept, shipped) if part[1]]
        if count:
            assert min(known) - 1e-6 <= hits / count <= max(known) + 1e-6


def test_many_trials_of_one_prompt_do_not_drown_what_ships() -> None:
    hits, count = blended(exported((400, 400)), exported((100, 400)))["rates"]["copies"]["3"]
    assert hits / count == pytest.approx((1 + 0.25) / 2)


def test_weights_meet_in_the_middle() -> None:
    assert blended(exported(weights=[1.0, 0.2]), exported(weights=[0.0, 0.0]))["weights"]["copies"] == [0.5, 0.1]


def test_what_only_one_knows_counts() -> None:
    empty: dict[str, Any] = {"rates": {}, "silent": {}, "weights": {}}
    assert blended(exported(), empty) == blended(empty, exported()) == exported()


@pytest.mark.parametrize("nonsense", [None, "x", [1], [5, 1], [1, 2, 3], {"a": 1}, ["a", "b"]])
def test_what_makes_no_sense_gives_way_to_what_ships(nonsense: Any) -> None:
    found = blended(exported(nonsense, nonsense), exported())
    assert found["rates"] == exported()["rates"]
    assert found["weights"]["copies"] == exported()["weights"]["copies"] or nonsense == [5, 1]
    damaged = {"rates": {"copies": nonsense}, "silent": {}, "weights": {}}
    assert blended(damaged, exported())["rates"]["copies"]["3"] == (1, 4)


def test_the_shipped_rates_stay_what_they_are() -> None:
    shipped = read_rates(SHIPPED_RATES)
    assert shipped is not None
    same = blended(shipped, shipped)
    for key, kinds in shipped["rates"].items():
        for kind, (hits, count) in kinds.items():
            found_hits, found_count = same["rates"][key][kind]
            assert found_hits * count == pytest.approx(hits * found_count)
