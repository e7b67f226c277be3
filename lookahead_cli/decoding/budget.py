"""What a draft is worth: how long a step takes by its number of nodes, and how far promises of nodes are kept."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

WIDTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of nodes whose step times are kept; between them time is taken to grow evenly."""
MOST_NODES = WIDTHS[-1]
KEPT_TIMES = 7
"""Latest times per width: their median shrugs off a step during which the machine did something else."""
FEWEST_TIMES = 3
"""Times a width must have for a later process to be told of it."""
STALE_STEPS = 200
"""Steps after which a width that was not used is forgotten: it looks cheap again, and so is tried again. That is how
a curve that has changed, or was measured in a bad moment, is put right, at the cost of a step now and then."""
PACE_SHARE = 0.5
"""How far a single step changes the pace; a power, as times are compared by ratio."""
LARGEST_CHANGE = 2.0
"""Steps longer or shorter than expected by more than this count as by this: the machine was busy for a moment."""
ASSUMED_COST = 0.01
"""Time a node is taken to add, as a part of a step without nodes, until it has been measured."""

TRUST = 2.0
"""Accepted guesses a track record starts with: so many must fail before promises are doubted much."""
FADING, IDLE_FADING = 0.95, 0.99
"""What is left of the record after a step with a draft, and after one without. Doubt fades, so that drafts are tried
again now and then."""
MOST_DOUBT, MOST_CONFIDENCE = 0.1, 1.5


class StepTimes:
    """The cost curve T(n): what a step with n nodes takes, measured while running.

    All steps take longer as the text grows, and when the machine has other work. Widths are measured at different
    moments, so that would count for some of them and against others. So a step is divided by the pace of the steps just
    before it, whatever their width; only proportions of the curve mean anything.
    """

    def __init__(
        self,
        earlier: Mapping[str, float] | None = None,
        widths: Sequence[int] = WIDTHS,
        assumed_cost: float = ASSUMED_COST,
    ) -> None:
        """`earlier` is what `export` gave. `widths` are kept; a width is what a curve is of, the number of nodes as a
        rule. `assumed_cost` is what a node adds until it is known: to the narrowest step measured, as a part of
        that; below it, as a part of a step without nodes.

        Raises:
            ArithmeticError, AttributeError, TypeError, ValueError: it is not.
        """
        self.widths = widths
        self.widest = widths[-1]
        self.assumed_cost = assumed_cost
        self.measured: dict[int, deque[float]] = {}
        self.last_used: dict[int, int] = {}
        self.steps = 0
        self.pace = 1.0
        """How much longer than the curve says steps take at the moment."""
        self.curve: list[float] = [1 + assumed_cost * nodes for nodes in range(self.widest + 1)]
        """Seconds for 0 to `widest` nodes; of no unit as long as nothing has been measured."""
        for nodes, seconds in (earlier or {}).items():
            if not 0 < float(seconds) < math.inf:
                raise ValueError(f"a step of {seconds} seconds")
            self.add(int(nodes), float(seconds))

    @property
    def knows_plain_steps(self) -> bool:
        """Whether it has been measured lately how long a step without nodes takes: all others are held against it."""
        return 0 in self.measured

    def add(self, nodes: int, seconds: float) -> None:
        """A step with `nodes` nodes took that long. Widths beyond the largest are not kept."""
        if nodes > self.widest:
            return
        self.steps += 1
        width = nearest_width(nodes, self.widths)
        if width in self.measured:
            found = seconds / (self.pace * self.curve[nodes])
            self.pace *= min(max(found, 1 / LARGEST_CHANGE), LARGEST_CHANGE) ** PACE_SHARE
        self.measured.setdefault(width, deque(maxlen=KEPT_TIMES)).append(seconds / self.pace)
        self.last_used[width] = self.steps
        for stale in [known for known in self.measured if self.steps - self.last_used[known] > STALE_STEPS]:
            del self.measured[stale]
        self.curve = self._interpolate()

    def export(self) -> dict[str, float]:
        """Seconds by width, for a later process on this machine."""
        return {
            str(width): round(median(times), 6)
            for width, times in sorted(self.measured.items())
            if len(times) >= FEWEST_TIMES
        }

    def _interpolate(self) -> list[float]:
        known = sorted((width, median(times)) for width, times in self.measured.items())
        narrowest, its_seconds = known[0]
        slope = self.assumed_cost * its_seconds
        without_nodes = its_seconds / (1 + self.assumed_cost * narrowest)  # more than nothing, however wide it is
        curve = [without_nodes * (1 + self.assumed_cost * nodes) for nodes in range(narrowest)]
        for (width, seconds), (following, later) in pairwise(known):
            rise = (later - seconds) / (following - width)
            curve += [seconds + rise * step for step in range(following - width)]
        width, seconds = known[-1]
        return curve + [seconds + slope * (nodes - width) for nodes in range(width, self.widest + 1)]


def nearest_width(nodes: int, widths: Sequence[int] = WIDTHS) -> int:
    """The width among `widths` that stands for `nodes`: the largest not above it."""
    return widths[bisect_right(widths, nodes) - 1]


class TrackRecord:
    """Guesses accepted lately against guesses promised. The hit rates behind promises adapt slowly, and are those of
    other texts; a text that is guessed worse than they say must not be drafted for as if it were not."""

    def __init__(self) -> None:
        self.promised = self.kept = 0.0

    def add(self, promised: float, kept: int) -> None:
        """A step promised so many accepted guesses, and kept so many."""
        fading = FADING if promised else IDLE_FADING
        self.promised = fading * self.promised + promised
        self.kept = fading * self.kept + kept

    @property
    def confidence(self) -> float:
        """What a promise is to be multiplied by."""
        return min(max((self.kept + TRUST) / (self.promised + TRUST), MOST_DOUBT), MOST_CONFIDENCE)
