"""A median and how far the values spread around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True)
class Quartiles:
    """Half of the values lie between `low` and `high`, half of them below `median`."""

    low: float
    median: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles:
    """Of at least one value."""
    if len(values) == 1:
        return Quartiles(values[0], values[0], values[0])
    return Quartiles(*quantiles(values, n=4, method="inclusive"))
