"""Theory beside practice: the parts add up."""

from __future__ import annotations

import pytest
from hypothesis import given

from lookahead_cli.bench.where_time_goes import where_time_goes
from lookahead_cli.decoding.statistics import Statistics
from tests.bench.made_runs import statistics


@given(statistics(), statistics())
def test_the_parts_of_a_step_add_up_and_explain_the_speed(own: Statistics, reference: Statistics) -> None:
    split = where_time_goes(own, reference)
    assert split is not None
    assert split.ideal / split.step_cost == pytest.approx(split.measured)
    told = [part for part in (split.wider_pass, split.drafting, split.selecting, split.rest) if part is not None]
    assert len(told) == (4 if own.forward_seconds and reference.forward_seconds else 0)
    assert not told or 1 + sum(told) == pytest.approx(split.step_cost, rel=1e-6, abs=1e-6)
    assert split.measured == pytest.approx(own.tokens_per_second / reference.tokens_per_second)


def test_an_example() -> None:
    reference = Statistics(tokens=10, steps=10, decode_seconds=10.0, forward_seconds=9.0, select_seconds=0.5)
    own = Statistics(
        tokens=10, steps=4, decode_seconds=6.0, forward_seconds=4.4, draft_seconds=0.8, select_seconds=0.4
    )  # fmt: skip
    split = where_time_goes(own, reference)
    assert split is not None
    assert split.ideal == 2.5
    assert split.step_cost == 1.5
    assert split.measured == pytest.approx(2.5 / 1.5)
    parts = [split.wider_pass, split.drafting, split.selecting, split.rest]
    assert parts == pytest.approx([0.2, 0.2, 0.05, 0.05])


def test_a_reference_is_where_it_is() -> None:
    own = Statistics(tokens=3, steps=3, decode_seconds=3.0, forward_seconds=2.0)
    split = where_time_goes(own, own)
    assert split is not None
    assert (split.ideal, split.measured, split.step_cost, split.wider_pass, split.rest) == (1, 1, 1, 0, 0)


def test_nothing_is_said_where_nothing_was_decoded() -> None:
    own = Statistics(tokens=3, steps=3, decode_seconds=3.0)
    assert where_time_goes(own, Statistics()) is None
    assert where_time_goes(Statistics(steps=1, decode_seconds=1.0), own) is None
