"""What a run has come to so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from lookahead_cli.batch.results import Failure, Outcome


@dataclass
class Tally:
    """Counts, and the pace they give."""

    known: int = 0
    """Records that were done before."""
    failed_before: int = 0
    """Of those, the ones that had failed."""
    done: int = 0
    failed: int = 0
    tokens: int = 0
    steps: int = 0
    fraction: float | None = None
    """Part of the input that has been answered; None where nobody knows how much there is."""
    first_fraction: float = 0.0
    """Of that, what was done before."""
    first_failure: Failure | None = None
    started: float = field(default_factory=perf_counter)

    def add(self, outcome: Outcome) -> None:
        """Count one more record."""
        if self.done + self.failed == 0 and self.known:
            self.first_fraction = outcome.fraction or 0.0
        if outcome.fraction is not None:
            self.fraction = max(self.fraction or 0.0, outcome.fraction)
        if isinstance(outcome, Failure):
            self.failed += 1
            self.first_failure = self.first_failure or outcome
            return
        self.done += 1
        self.tokens += len(outcome.token_ids)
        self.steps += outcome.steps

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.started

    @property
    def tokens_per_second(self) -> float:
        """Prompts, waiting and all included."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def tokens_per_step(self) -> float:
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far."""
        if self.fraction is None or self.fraction <= self.first_fraction:
            return None
        return self.seconds * (1 - self.fraction) / (self.fraction - self.first_fraction)
