"""What the runs of a contest come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lookahead_cli.bench.contest import Run
from lookahead_cli.decoding.statistics import Statistics


@dataclass
class Tally:
    """Sums over runs of one contestant."""

    runs: int = 0
    same: int = 0
    """Runs with exactly the tokens of the reference."""
    statistics: Statistics = field(default_factory=Statistics)

    def add(self, run: Run) -> None:
        self.runs += 1
        self.same += run.differs_at is None
        self.statistics.include(run.statistics)


@dataclass
class Standing:
    """What one contestant achieved."""

    overall: Tally = field(default_factory=Tally)
    categories: dict[str, Tally] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        self.overall.add(run)
        self.categories.setdefault(run.category, Tally()).add(run)


def standings(runs: Iterable[Run]) -> dict[str, Standing]:
    """The standing of each contestant, by name, in the order in which they first ran."""
    by_name: dict[str, Standing] = {}
    for run in runs:
        by_name.setdefault(run.contestant, Standing()).add(run)
    return by_name
