"""Theory beside practice: what a strategy would gain if its steps cost nothing more, and what they do cost."""

from __future__ import annotations

from dataclasses import dataclass

from lookahead_cli.decoding.statistics import Statistics


@dataclass(frozen=True)
class TimeSplit:
    """A contestant's steps held against those of its reference.

    `ideal / step_cost` is `measured`; `1 + wider_pass + drafting + selecting + rest` is `step_cost`. The last four are
    what a step takes longer than one of the reference, as parts of a whole step of the reference; None where one of the
    two does not tell. Where a device computes on while the program goes on, waiting for it counts as selecting.
    """

    ideal: float
    """Tokens per step over those of the reference."""
    measured: float
    """Tokens per second over those of the reference."""
    step_cost: float
    """Time of a step over that of a step of the reference."""
    wider_pass: float | None
    drafting: float | None
    selecting: float | None
    rest: float | None
    """Learning, keeping what was accepted, turning tokens into text."""


def where_time_goes(own: Statistics, reference: Statistics) -> TimeSplit | None:
    """How the two differ; None if either has no token or no time to compare."""
    if not (own.tokens and own.decode_seconds and reference.tokens and reference.decode_seconds):
        return None
    whole = reference.decode_seconds / reference.steps
    more_by_part: list[float] | list[None] = [None] * 4
    if own.forward_seconds and reference.forward_seconds:
        more_by_part = [
            (mine / own.steps - its / reference.steps) / whole
            for mine, its in zip(seconds_by_part(own), seconds_by_part(reference), strict=True)
        ]
    return TimeSplit(
        own.tokens_per_step / reference.tokens_per_step,
        own.tokens_per_second / reference.tokens_per_second,
        own.decode_seconds / own.steps / whole,
        *more_by_part,
    )


def seconds_by_part(statistics: Statistics) -> tuple[float, float, float, float]:
    """Decoding time inside the model, drafting, selecting, and all the rest."""
    told = (statistics.forward_seconds, statistics.draft_seconds, statistics.select_seconds)
    return (*told, statistics.decode_seconds - sum(told))
