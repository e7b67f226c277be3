"""What the runs of a contest come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lookahead_cli.bench.contest import Run
from lookahead_cli.bench.quartiles import Quartiles, quartiles
from lookahead_cli.decoding.statistics import Statistics


@dataclass
class Tally:
    """Sums over runs of one contestant."""

    runs: int = 0
    same: int = 0
    """Runs with exactly the tokens of the reference."""
    statistics: Statistics = field(default_factory=Statistics)
    prompts: set[int] = field(default_factory=set)
    """Their numbers; every round runs each of them once."""

    def add(self, run: Run) -> None:
        self.runs += 1
        self.same += run.differs_at is None
        self.statistics.include(run.statistics)
        self.prompts.add(run.prompt)


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


@dataclass(frozen=True)
class SpeedUps:
    """How many times as fast as its reference a contestant was, run by run."""

    overall: Quartiles | None
    """None: no run of it can be compared."""
    categories: dict[str, Quartiles]
    """Without those of which no run can be compared."""


def speed_ups(runs: Sequence[Run], references: Mapping[str, str]) -> dict[str, SpeedUps]:
    """The spread of the speed-ups of each contestant, by name; `references` tells the name of its reference.

    A run is compared with the reference's run of the same prompt in the same round, in tokens per second: the two were
    near each other in time, so what made the machine slow for a while made both slow. Runs without a token, and those
    whose reference has none, are left out.
    """
    found: dict[str, dict[str, list[float]]] = {run.contestant: {} for run in runs}
    for run, ratio in zip(runs, speed_up_of_each(runs, references), strict=True):
        if ratio:
            found[run.contestant].setdefault(run.category, []).append(ratio)
    return {name: spread_of(categories) for name, categories in found.items()}


def speed_up_of_each(runs: Sequence[Run], references: Mapping[str, str]) -> list[float | None]:
    """Tokens per second over those of the reference's run; None where that has none."""
    speeds = {(run.contestant, run.round, run.prompt): run.statistics.tokens_per_second for run in runs}
    slower = [speeds.get((references[run.contestant], run.round, run.prompt)) for run in runs]
    return [
        run.statistics.tokens_per_second / other if other else None for run, other in zip(runs, slower, strict=True)
    ]


def spread_of(categories: Mapping[str, list[float]]) -> SpeedUps:
    """From the speed-ups in every category."""
    everything = [ratio for ratios in categories.values() for ratio in ratios]
    return SpeedUps(
        quartiles(everything) if everything else None,
        {category: quartiles(ratios) for category, ratios in categories.items()},
    )
