"""Turns in a race: everyone has had the same time on the clock."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.bench.race import race
from lookahead_cli.decoding.events import MODEL, Event, PrefillEvent, StepEvent
from lookahead_cli.decoding.generation import Generation

TURN = 1.0


def generation(seconds: list[float]) -> Generation:
    """Steps that take so long."""

    def events() -> Iterator[Event]:
        yield PrefillEvent(3, 0.5)
        for place, duration in enumerate(seconds, start=1):
            reason = "length" if place == len(seconds) else None
            yield StepEvent((1,), (MODEL,), ("a",), {}, duration, finish_reason=reason)  # type: ignore[arg-type]

    return Generation([1], events())


durations = st.lists(st.floats(0.01, 3.0), min_size=1, max_size=20)


@given(st.lists(durations, min_size=1, max_size=4))
def test_all_finish_and_no_clock_runs_ahead(all_seconds: list[list[float]]) -> None:
    generations = [generation(seconds) for seconds in all_seconds]
    longest = max(max(seconds) for seconds in all_seconds)
    prefills = 0
    for place, event in race(generations, TURN):
        if isinstance(event, PrefillEvent):
            assert prefills == place, "prompts come first, in order"
            prefills += 1
            continue
        assert prefills == len(generations)
        clocks = [
            made.statistics.decode_seconds for made in generations if made.finish_reason is None or not made.steps
        ]
        if len(clocks) > 1:
            assert max(clocks) - min(clocks) <= TURN + longest + 1e-6
    assert [len(made.steps) for made in generations] == [len(seconds) for seconds in all_seconds]
    assert all(made.finish_reason == "length" for made in generations)


def test_whoever_is_behind_goes_on() -> None:
    order = [place for place, event in race([generation([2.0] * 3), generation([0.5] * 6)], TURN)]
    assert order[:2] == [0, 1]
    assert order[2:] == [0, 1, 1, 1, 1, 0, 1, 1, 0]
