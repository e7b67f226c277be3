"""Counts and times of one generation, gathered from its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from lookahead_cli.decoding.events import Event, PrefillEvent


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
    """Tokens of the prompt that were read."""
    kept_tokens: int = 0
    """Those that the model had read before."""
    tokens: int = 0
    steps: int = 0
    drafters: dict[str, DrafterCounts] = field(default_factory=dict)
    """By provenance, in the order they first drafted."""
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    forward_seconds: float = 0.0
    """Of the decoding, inside the model."""
    draft_seconds: float = 0.0
    """Of the decoding, spent on making guesses."""
    select_seconds: float = 0.0
    """Of the decoding, spent on choosing tokens from logits."""
    tested_at: list[int] = field(default_factory=list)
    """Steps in which a guess at depth 1, 2, 3, ... was put to the test, all before it having been accepted."""
    accepted_at: list[int] = field(default_factory=list)
    """Steps that accepted it."""
    time_to_first_token: float | None = None
    """From the start of the prompt's processing to the end of the first step that emits; None before."""

    def add(self, event: Event) -> None:
        if isinstance(event, PrefillEvent):
            self.prefill_tokens = event.tokens
            self.kept_tokens = event.kept
            self.prefill_seconds = event.seconds
            return
        self.steps += 1
        self.tokens += len(event.token_ids)
        for drafter, count in event.drafted_by.items():
            self.drafters.setdefault(drafter, DrafterCounts()).drafted += count
        for drafter in event.provenance:
            if drafter in event.drafted_by:
                self.drafters[drafter].accepted += 1
        self.decode_seconds += event.seconds
        self.forward_seconds += event.forward_seconds
        self.draft_seconds += event.draft_seconds
        self.select_seconds += event.select_seconds
        self.tested_at = sums(self.tested_at, [1] * event.tested_depth)
        self.accepted_at = sums(self.accepted_at, [1] * event.accepted)
        if self.time_to_first_token is None and event.token_ids:
            self.time_to_first_token = self.prefill_seconds + self.decode_seconds

    def include(self, other: Statistics) -> None:
        """Add the counts and times of another generation; the time to the first token stays one generation's own."""
        self.prefill_tokens += other.prefill_tokens
        self.kept_tokens += other.kept_tokens
        self.tokens += other.tokens
        self.steps += other.steps
        self.prefill_seconds += other.prefill_seconds
        self.decode_seconds += other.decode_seconds
        self.forward_seconds += other.forward_seconds
        self.draft_seconds += other.draft_seconds
        self.select_seconds += other.select_seconds
        self.tested_at = sums(self.tested_at, other.tested_at)
        self.accepted_at = sums(self.accepted_at, other.accepted_at)
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
    def overhead(self) -> float | None:
        """Part of the decoding time spent outside the model: drafting, selecting, learning, detokenising. None where
        nobody can tell."""
        return 1 - self.forward_seconds / self.decode_seconds if self.forward_seconds else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over drafted; None where nothing was drafted, or nobody counted what was."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def acceptance_by_depth(self) -> list[float]:
        """The part of the guesses at depth 1, 2, 3, ... that was accepted, of those tested there."""
        return [accepted / tested for accepted, tested in zip(self.accepted_at, self.tested_at, strict=False)]

    @property
    def tokens_per_second(self) -> float:
        """Decoding speed, prefill excluded."""
        return self.tokens / self.decode_seconds if self.decode_seconds else 0.0

    def speed_over(self, reference: Statistics) -> float:
        """How many times as fast as `reference` decoding was; 0 where either has no speed."""
        return self.tokens_per_second / reference.tokens_per_second if reference.tokens_per_second else 0.0

    @property
    def prefill_tokens_per_second(self) -> float:
        return self.prefill_tokens / self.prefill_seconds if self.prefill_seconds else 0.0


def sums(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Element by element, the shorter one filled up with zeros."""
    return [left + right for left, right in zip_longest(one, other, fillvalue=0)]
