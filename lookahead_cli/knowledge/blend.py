"""Hit rates of earlier runs, held to those that ship.

A few prompts, or the same one again and again, teach what holds for them: guesses then promise too much for the next
text, and drafts are grown where they do not pay. So what was learned counts for no more than what ships.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lookahead_cli.decoding.hit_rates import REMEMBERED

MOST_TRIALS = REMEMBERED / 2
"""Of each of the two: a rate is made from as many of one as of the other, and the text still has its say."""


def blended(kept: Mapping[str, Any], shipped: Mapping[str, Any]) -> dict[str, Any]:
    """Both are what `HitRates.export` gives. Where only one of them knows something, or the other one makes no sense,
    that one counts."""
    rates = {
        key: merged(kept["rates"].get(key), shipped["rates"].get(key), add_trials)
        for key in {**shipped["rates"], **kept["rates"]}
    }
    return {
        "rates": rates,
        "silent": merged(kept["silent"], shipped["silent"], add_trials),
        "weights": merged(kept["weights"], shipped["weights"], average),
    }


def merged(kept: Any, shipped: Any, merge: Any) -> dict[str, Any]:
    """Entries of both, those with the same name merged."""
    kept, shipped = (part if isinstance(part, dict) else {} for part in (kept, shipped))
    entries = {**shipped, **kept}
    for name in kept.keys() & shipped.keys():
        entries[name] = shipped[name]
        with suppress(ArithmeticError, TypeError, ValueError):
            entries[name] = merge(kept[name], shipped[name])
    return entries


def add_trials(kept: Any, shipped: Any) -> list[float]:
    """Hits and trials of both together."""
    return [kept + shipped for kept, shipped in zip(scaled(*kept), scaled(*shipped), strict=True)]


def scaled(hits: float, trials: float) -> tuple[float, float]:
    """At most MOST_TRIALS, with the same rate. Raises ValueError if it is none."""
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} of {trials}")
    share = min(1.0, MOST_TRIALS / trials) if trials else 1.0
    return hits * share, trials * share


def average(kept: Any, shipped: Any) -> list[float]:
    """In the middle between two rows of numbers."""
    return [(one + other) / 2 for one, other in zip(kept, shipped, strict=True)]
