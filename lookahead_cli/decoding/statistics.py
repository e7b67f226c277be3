"""Counts and times of one generation, gathered from its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from lookahead_cli.decoding.events import MODEL, Event, PrefillEvent


@dataclass
class DrafterCounts:
    """What one drafter did."""

    drafted: int = 0
    """Draft tokens of its own that were verified."""
    accepted: int = 0
    """Those of them that were accepted and emitted: the tokens it contributed."""


@dataclass
class Statistics:
    """Running totals. Times are in seconds of wall time; rates are per second."""

    prefill_tokens: int = 0
    tokens: int = 0
    steps: int = 0
    drafters: dict[str, DrafterCounts] = field(default_factory=dict)
    """By provenance, in the order they first drafted."""
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    forward_seconds: float = 0.0
    """Of the decoding, inside the model."""
    time_to_first_token: float | None = None
    """From the start of the prompt's processing to the end of the first step; None while there is no token."""

    def add(self, event: Event) -> None:
        if isinstance(event, PrefillEvent):
            self.prefill_tokens = event.tokens
            self.prefill_seconds = event.seconds
            return
        self.steps += 1
        self.tokens += len(event.token_ids)
        for drafter, count in event.drafted_by.items():
            self.drafters.setdefault(drafter, DrafterCounts()).drafted += count
        for drafter in event.provenance:
            if drafter != MODEL:
                self.drafters[drafter].accepted += 1
        self.decode_seconds += event.seconds
        self.forward_seconds += event.forward_seconds
        if self.time_to_first_token is None:
            self.time_to_first_token = self.prefill_seconds + event.seconds

    def include(self, other: Statistics) -> None:
        """Add the counts and times of another generation; the time to the first token stays one generation's own."""
        self.prefill_tokens += other.prefill_tokens
        self.tokens += other.tokens
        self.steps += other.steps
        self.prefill_seconds += other.prefill_seconds
        self.decode_seconds += other.decode_seconds
        self.forward_seconds += other.forward_seconds
        for drafter, counts in other.drafters.items():
            own = self.drafters.setdefault(drafter, DrafterCounts())
            own.drafted += counts.drafted
            own.accepted += counts.accepted

    @property
    def drafted(self) -> int:
        """Draft tokens verified."""
        return sum(counts.drafted for counts in self.drafters.values())

    @property
    def accepted(self) -> int:
        """Accepted guesses that were emitted."""
        return sum(counts.accepted for counts in self.drafters.values())

    @property
    def tokens_per_step(self) -> float:
        """Emitted tokens per step after prefill; plain decoding is 1.00."""
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def drafted_per_step(self) -> float:
        """Draft tokens verified per step."""
        return self.drafted / self.steps if self.steps else 0.0

    @property
    def overhead(self) -> float:
        """Part of the decoding time spent outside the model: drafting, selecting, learning, detokenising."""
        return 1 - self.forward_seconds / self.decode_seconds if self.decode_seconds else 0.0

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over drafted; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def tokens_per_second(self) -> float:
        """Decoding speed, prefill excluded."""
        return self.tokens / self.decode_seconds if self.decode_seconds else 0.0

    @property
    def prefill_tokens_per_second(self) -> float:
        return self.prefill_tokens / self.prefill_seconds if self.prefill_seconds else 0.0
