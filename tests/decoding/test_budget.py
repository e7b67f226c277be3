"""The number of nodes follows from what is expected and what a step costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lookahead_cli.decoding.budget import MOST_NODES, STALE_STEPS, WIDTHS, StepTimes, TrackRecord, nearest_width
from lookahead_cli.decoding.hit_rates import HitRates
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.strategy import Room
from tests.decoding.test_hit_rates import Fixed

ROOM = Room(50, branching=lambda nodes: True)


def test_times_between_two_widths_grow_evenly() -> None:
    times = StepTimes()
    times.add(0, 1.0)
    times.add(8, 3.0)
    assert times.curve[:9] == pytest.approx([1.0 + 0.25 * nodes for nodes in range(9)])
    assert len(times.curve) == MOST_NODES + 1
    assert times.curve == sorted(times.curve)


def test_a_pass_narrower_than_any_that_was_measured_takes_more_than_nothing() -> None:
    times = StepTimes({"48": 1.0}, (1, 48, 64), 0.03)
    assert 0 < times.curve[0] < times.curve[1] < times.curve[47] < times.curve[48] == 1.0
    assert times.curve == sorted(times.curve)


def test_one_slow_step_does_not_change_the_curve() -> None:
    times = StepTimes()
    for seconds in (1.0, 1.0, 90.0, 1.0):
        times.add(4, seconds)
    assert times.curve[4] == pytest.approx(1.0)


def test_times_of_an_earlier_process_are_a_start() -> None:
    times = StepTimes()
    for nodes, seconds in ((0, 1.0), (4, 2.0), (16, 3.0)) * 3:
        times.add(nodes, seconds)
    times.add(32, 9.0)
    assert "32" not in times.export(), "once is not enough to be told"
    times = StepTimes({"0": 1.0, "4": 2.0, "16": 3.0})
    again = StepTimes({"0": 1.0, "4": 2.0, "16": 3.0})
    assert again.curve == pytest.approx(times.curve)
    for _ in range(10):
        again.add(0, 1.0)
        again.add(4, 5.0)
    assert again.curve[4] / again.curve[0] == pytest.approx(5.0, rel=0.25), "what is measured now takes over"


def test_a_text_that_grows_does_not_make_the_widths_in_use_look_dear() -> None:
    times = StepTimes()
    for nodes, seconds in ((0, 1.0), (4, 1.2)) * 4:
        times.add(nodes, seconds)
    for _ in range(30):
        times.add(4, 2.4)  # all steps take twice as long by now, but no plain one is among them
    assert times.curve[4] / times.curve[0] == pytest.approx(1.2, rel=0.1)


def test_every_number_of_nodes_has_a_width() -> None:
    assert [nearest_width(nodes) for nodes in (0, 5, 16, 63, 64)] == [0, 4, 16, 48, 64]
    assert all(nearest_width(width) == width for width in WIDTHS)


def strategy(kind: int, cost: float, nodes: int | None = None) -> Lookahead:
    """Guesses of one kind, which are right (kind + 0.5) times in ten; each node adds `cost` to a step."""
    drafters = [Fixed("a", {1: kind})]
    made = Lookahead(drafters, HitRates(drafters), StepTimes(), SamplingSettings(), 10, nodes=nodes)
    made.begin([1, 2], None)
    for width in WIDTHS:
        made.times.add(width, 1.0 + cost * width)
    return made


def test_free_nodes_are_all_taken_and_dear_ones_none() -> None:
    assert len(strategy(9, cost=0.0).draft([1, 2], ROOM)) > 20
    assert len(strategy(9, cost=2.0).draft([1, 2], ROOM)) == 0
    assert len(strategy(0, cost=0.2).draft([1, 2], ROOM)) == 0


def test_the_number_of_nodes_is_the_one_with_most_expected_tokens_per_second() -> None:
    made = strategy(8, cost=0.1)
    draft = made.draft([1, 2], ROOM)
    rate = made.rates.assess([None])
    assert rate is not None
    hit = rate.probabilities[1]
    expected = [sum(hit**depth for depth in range(nodes + 1)) / (1 + 0.1 * nodes) for nodes in range(40)]
    assert len(draft) == expected.index(max(expected))


def test_a_fixed_number_is_taken_whatever_it_costs() -> None:
    assert len(strategy(9, cost=5.0, nodes=7).draft([1, 2], ROOM)) == 7


def run(made: Lookahead, steps: int, seconds: Callable[[int], float]) -> list[int]:
    """Sizes of drafts when a step with n nodes takes `seconds(n)`."""
    made.has_run = True
    made.times = StepTimes()
    sizes = []
    for _ in range(steps):
        sizes.append(len(made.draft([1, 2], ROOM)))
        made.times.add(sizes[-1], seconds(sizes[-1]))
    return sizes


def test_when_nothing_pays_it_drafts_nothing_and_tries_again_rarely() -> None:
    sizes = run(strategy(1, cost=0.0), 10 * STALE_STEPS, lambda nodes: 1.4 + 0.01 * nodes if nodes else 1.0)
    assert 1 <= sum(size > 0 for size in sizes[STALE_STEPS:]) < 0.03 * len(sizes)


def test_it_finds_out_that_plain_steps_are_cheaper() -> None:
    sizes = run(strategy(3, cost=0.0), 300, lambda nodes: 2.0 if nodes else 1.0)
    assert sizes[0] == 0, "plain steps are measured first"
    assert sum(size > 0 for size in sizes[50:]) < 10


def test_promises_that_are_not_kept_are_doubted_and_tried_again() -> None:
    made = strategy(9, cost=0.15)
    sizes = []
    for _ in range(400):
        sizes.append(len(made.draft([1, 2], ROOM)))
        made.record.add(sum(made.promises), kept=0)
    assert sizes[0] > 3
    assert sum(size > 0 for size in sizes[40:]) < 0.25 * len(sizes)
    assert any(size > 0 for size in sizes[20:])


def test_a_record_says_what_share_of_promises_was_kept() -> None:
    record = TrackRecord()
    assert record.confidence == 1.0
    for _ in range(300):
        record.add(2.0, kept=1)
    assert record.confidence == pytest.approx(0.5, abs=0.05)


def test_a_bad_moment_is_forgotten() -> None:
    made = strategy(9, cost=0.0)
    calm = run(made, 50, lambda nodes: 1.0 + 0.001 * nodes)[-1]
    assert calm > 20
    run(made, 10, lambda nodes: 1.0 + 5.0 * nodes)
    for _ in range(3 * STALE_STEPS):
        size = len(made.draft([1, 2], ROOM))
        made.times.add(size, 1.0 + 0.001 * size)
    assert len(made.draft([1, 2], ROOM)) > 20


def test_never_deeper_than_the_tokens_still_allowed() -> None:
    made = strategy(9, cost=0.0)
    for depth in (0, 1, 3):
        draft = made.draft([1, 2], Room(depth, branching=lambda nodes: True))
        assert max((len(draft.path_to(node)) for node in range(len(draft))), default=0) <= depth
