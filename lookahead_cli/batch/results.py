"""What comes out of a run: a result for each record, or a failure."""

from __future__ import annotations

from dataclasses import dataclass

from lookahead_cli.decoding.events import FinishReason


@dataclass(frozen=True)
class Result:
    """A record that was answered."""

    number: int
    """The record's."""
    id: str
    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    token_ids: tuple[int, ...]
    provenance: tuple[str, ...]
    """For each token the drafter it came from, or "model"."""
    steps: int
    seconds: float
    """From when it entered the batch to its last token."""
    seed: int | None
    """None where nothing was drawn."""
    fraction: float | None = None
    """The record's."""


@dataclass(frozen=True)
class Failure:
    """A record that could not be answered."""

    number: int
    id: str
    place: str
    line: int | None
    reason: str
    fraction: float | None = None


Outcome = Result | Failure
