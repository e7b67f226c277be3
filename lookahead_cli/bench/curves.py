"""What a plot of a contest shows: contestants that differ in k alone make one curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lookahead_cli.bench.entries import Entry
from lookahead_cli.bench.names import GUESSING
from lookahead_cli.bench.quartiles import Quartiles
from lookahead_cli.bench.tally import SpeedUps, Standing
from lookahead_cli.decoding.statistics import Statistics

FEWEST_TESTED = 5
"""Guesses that must have been tested at a depth for their acceptance to say something."""


@dataclass(frozen=True)
class Point:
    """One contestant."""

    guesses: float
    """Its k; where that is "auto", how many guesses it made per step."""
    speed_up: Quartiles
    tokens_per_step: float
    acceptance_by_depth: list[float]


@dataclass
class Curve:
    """Contestants whose names are the same but for k."""

    label: str
    fixed: list[Point] = field(default_factory=list)
    """By k."""
    auto: Point | None = None
    """The one that chooses k itself."""
    level: Point | None = None
    """One that knows no k, or does not tell how much it guesses."""

    @property
    def most_telling(self) -> Point:
        """The one with most guesses, as its guesses are tested to the greatest depth."""
        points = [*self.fixed, *filter(None, (self.auto, self.level))]
        return max(points, key=lambda point: len(point.acceptance_by_depth))


def curves(
    entries: Sequence[Entry],
    references: Mapping[str, str],
    standings: Mapping[str, Standing],
    spreads: Mapping[str, SpeedUps],
) -> list[Curve]:
    """The curves of all contestants that can be compared with another, in the order of their first. `references` tells
    the name of each one's reference; a reference is a point among others only if it has a k."""
    found: dict[str, Curve] = {}
    for entry in entries:
        spread = spreads[entry.name].overall
        has_k = "k" in GUESSING[entry.kind]
        if spread is None or (references[entry.name] == entry.name and not has_k):
            continue
        statistics = standings[entry.name].overall.statistics
        k = entry.decoding.k
        auto = isinstance(k, str)
        point = Point(
            statistics.drafted_per_step if auto else float(k),
            spread,
            statistics.tokens_per_step,
            reliable_acceptance(statistics),
        )
        curve = found.setdefault(without_k(entry.name), Curve(without_k(entry.name)))
        if not has_k or (auto and not statistics.drafted):
            curve.level = point
        elif auto:
            curve.auto = point
        else:
            curve.fixed.append(point)
    for curve in found.values():
        curve.fixed.sort(key=lambda point: point.guesses)
    return list(found.values())


def without_k(name: str) -> str:
    """The name of a contestant, its k left out."""
    kind, _, own = name.partition(":")
    rest = ",".join(part for part in own.split(",") if part and part.partition("=")[0].strip() != "k")
    return f"{kind}:{rest}" if rest else kind


def reliable_acceptance(statistics: Statistics) -> list[float]:
    """Acceptance at depth 1, 2, 3, ..., as far as enough guesses were tested there."""
    enough = sum(tested >= FEWEST_TESTED for tested in statistics.tested_at)  # deeper ones are tested less often
    return statistics.acceptance_by_depth[:enough]
