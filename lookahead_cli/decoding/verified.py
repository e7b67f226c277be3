"""What came of a draft: the material that strategies and drafters learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens


@dataclass(frozen=True)
class VerifiedStep:
    """What one forward pass said about a draft: the material drafters learn from."""

    position: int
    """Position of the first emitted token: the one row 0 of the logits speaks of."""
    draft: Draft
    logits: Tensor
    """(1 + len(draft), vocab): row 0 follows the pending token, row 1 + i follows node i."""
    path: tuple[int, ...]
    """The accepted nodes, in order."""
    committed: Sequence[int]
    """Prompt and output, with the tokens this step emitted."""
    seconds: float
    """Wall time so far: drafting, forward pass, selecting and committing."""
    known_likely: LikelyTokens | None = None
    """What `likely_tokens` says about the logits, if somebody has worked that out already."""

    @property
    def likely(self) -> LikelyTokens:
        """The likeliest tokens of every row."""
        return likely_tokens(self.logits) if self.known_likely is None else self.known_likely

    @property
    def next_position(self) -> int:
        """Position of the first token that is still to come."""
        return self.position + len(self.path) + 1
