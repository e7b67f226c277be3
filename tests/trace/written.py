"""A small trace, and how it is read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.events import Event, PrefillEvent
from lookahead_cli.profile import Settings
from lookahead_cli.trace.reading import Trace, read_trace
from lookahead_cli.trace.writing import open_trace
from tests.made_steps import step_of

DRAFT = Draft((1, 2, 3), (-1, -1, 0), ("copies", "jacobi", "copies"))
PREFILL = PrefillEvent(2, 0.125)
STEPS = [step_of(DRAFT, (0, 2), own=4), replace(step_of(DRAFT, (), own=5), finish_reason="length")]
PROMPT = "ask \u2028 日本\n"


def label(token: int) -> str:
    return f"word {token}\n"


def written(path: Path, *events: Event) -> bytes:
    """A trace of the events."""
    return recorded(path, iter(events))


def recorded(path: Path, events: Iterator[Event]) -> bytes:
    """The same for events that are still to come."""
    with open_trace(path) as trace:
        trace.begin(Settings(), PROMPT, [7, 8, 9], label)
        for _ in trace.recording(events):
            pass
    return path.read_bytes()


def read(content: bytes) -> Trace:
    return read_trace(io.BytesIO(content), "trace x")
