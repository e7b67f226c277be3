"""What a fresh process knows before it has read a prompt. Where it is kept and how it comes about: `knowledge/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class RehearsedContexts(Protocol):
    """What the model finds likely after short runs of tokens: tokens with their certainty (`likely.certainty`)."""

    def after_single(self, token: int) -> Mapping[int, int]:
        """After a token that stands alone."""

    def look_up(self, context: tuple[int, ...]) -> Mapping[int, int]:
        """After the last one to three tokens of a text the model wrote by itself; empty if it never wrote them."""


@dataclass(frozen=True)
class PriorKnowledge:
    """Derived from the model alone, or numbers that say nothing about any text."""

    rehearsed: RehearsedContexts | None = None
    hit_rates: Mapping[str, Any] | None = None
    """What `HitRates.export` gave in an earlier run."""
    step_seconds: Mapping[str, float] | None = None
    """What `StepTimes.export` gave in an earlier run on the same device with the same settings."""
