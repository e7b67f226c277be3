"""A race on one prompt: everyone decodes by turns, and has had the same time on the clock at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lookahead_cli.decoding.events import Event, StepEvent
from lookahead_cli.decoding.generation import Generation

TURN_SECONDS = 0.1
"""How long somebody decodes before the next one goes on: long enough to have the caches of the processor filled again,
short enough to look as if all went on at once."""


def one_after_the_other(generations: Sequence[Generation]) -> Iterator[tuple[int, Event]]:
    """The same where nobody watches: they may share a KV cache."""
    for place, generation in enumerate(generations):
        for event in generation:
            yield place, event


def race(generations: Sequence[Generation], turn_seconds: float = TURN_SECONDS) -> Iterator[tuple[int, Event]]:
    """Each event, with the place of the generation it belongs to.

    Prompts are processed first. Then it is always the one with the least time on its own clock that goes on; so they
    never compete for the processor, and still can be watched side by side. Each needs a KV cache of its own.
    """
    events = [iter(generation) for generation in generations]
    for place, its_events in enumerate(events):
        yield place, next(its_events)
    running = list(range(len(generations)))
    while running:
        place = min(running, key=lambda place: generations[place].statistics.decode_seconds)
        clock = generations[place].statistics
        ends_at = clock.decode_seconds + turn_seconds
        while clock.decode_seconds < ends_at:
            event = next(events[place])
            yield place, event
            if isinstance(event, StepEvent) and event.finish_reason is not None:
                running.remove(place)
                break
