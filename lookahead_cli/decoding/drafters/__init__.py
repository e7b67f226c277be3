"""Drafters: where guesses come from. A drafter never affects which tokens come out, only how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from lookahead_cli.decoding.draft import Draft, VerifiedStep


class Drafter(Protocol):
    """Proposes the tokens that may follow. One drafter serves one generation."""

    def begin(self, prompt: Sequence[int], logits: Tensor | None) -> None:
        """The prompt has been processed; `logits` (vocab,) speak of its last token (None for a one-token prompt)."""

    def draft(self, committed: Sequence[int], limit: int) -> Draft:
        """At most `limit` guesses for the tokens after `committed`."""

    def observe(self, step: VerifiedStep) -> None:
        """Learn from a finished step. Not called after the last one."""
