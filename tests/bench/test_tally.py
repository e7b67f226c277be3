"""What runs come to: sums, and the spread of speed-ups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.bench.quartiles import quartiles
from lookahead_cli.bench.tally import speed_ups, standings
from tests.bench.made_runs import SECONDS, made_run

REFERENCES = {"greedy": "greedy", "fast": "greedy"}
TIMES = st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=20)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_a_quarter_of_the_values_lies_on_either_side_of_the_quartiles(values: list[float]) -> None:
    found = quartiles(values)
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= found.low <= found.median + slack <= found.high + 2 * slack <= max(values) + 3 * slack
    assert 4 * sum(value <= found.low + slack for value in values) >= len(values)
    assert 4 * sum(value >= found.high - slack for value in values) >= len(values)


@given(TIMES, st.floats(0.1, 10))
def test_a_speed_up_is_one_of_times_and_has_no_unit(times: list[tuple[float, float]], slower: float) -> None:
    runs = [
        run
        for place, (plain, fast) in enumerate(times)
        for run in (made_run("greedy", place, seconds=plain), made_run("fast", place, seconds=fast))
    ]
    found = speed_ups(runs, REFERENCES)
    whole = found["fast"].overall
    assert whole is not None
    assert whole.median == pytest.approx(quartiles([plain / fast for plain, fast in times]).median)
    machine = [replace(run, statistics=replace(run.statistics, decode_seconds=slower * run.statistics.decode_seconds))
               for run in runs]  # fmt: skip
    on_a_slower_one = speed_ups(machine, REFERENCES)["fast"].overall
    assert on_a_slower_one is not None
    assert on_a_slower_one.median == pytest.approx(whole.median)
    reference = found["greedy"].overall
    assert reference is not None
    assert (reference.low, reference.high) == (1.0, 1.0)
    assert speed_ups(runs[::-1], REFERENCES)["fast"].overall == whole


def test_speed_counts_tokens_and_runs_are_compared_within_their_round() -> None:
    runs = [
        made_run("greedy", tokens=10, steps=10, seconds=1.0), made_run("fast", tokens=20, steps=10, seconds=1.0),
        made_run("greedy", round=1, seconds=4.0), made_run("fast", round=1, seconds=1.0),
        made_run("greedy", 1, category="b"), made_run("fast", 1, category="b", tokens=0, steps=0, seconds=0.0),
    ]  # fmt: skip
    found = speed_ups(runs, REFERENCES)["fast"]
    assert found.overall is not None
    assert found.overall.median == 3.0, "twice and four times as fast"
    assert set(found.categories) == {"a"}, "a run without a token cannot be compared"


def test_a_standing_counts_runs_and_prompts() -> None:
    runs = [made_run("greedy", prompt, round=round) for round in range(3) for prompt in range(2)]
    tally = standings(runs)["greedy"].overall
    assert (tally.runs, tally.prompts, tally.statistics.tokens) == (6, {0, 1}, 48)
