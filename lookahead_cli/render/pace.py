"""How fast events are shown."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep

from lookahead_cli.decoding.events import Event, StepEvent


def slowed(events: Iterator[Event], delay: float) -> Iterator[Event]:
    """The events; after each step but the last it waits for so many seconds before it goes on."""
    for event in events:
        yield event
        if delay and isinstance(event, StepEvent) and event.finish_reason is None:
            sleep(delay)


def paced(events: Iterator[Event], speed: float) -> Iterator[Event]:
    """Recorded events, each after the time it took, `speed` times as fast."""
    for event in events:
        sleep(event.seconds / speed)
        yield event
