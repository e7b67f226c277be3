"""What decoding needs of a model: run a prompt, verify a draft, keep what was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor


class Runner(Protocol):
    """A model with its KV cache, for one sequence at a time."""

    vocab: int
    """Number of token ids the model takes."""
    rewind_obstacle: str | None
    """Why rejected guesses cannot be taken out of the cache again, or None if they can. With an obstacle only empty
    drafts may be verified."""

    def prefill(self, tokens: Sequence[int]) -> Tensor | None:
        """Start a new sequence with `tokens`; logits (vocab,) for the position after them, None if there are none."""

    def step(self, pending: int, draft: Sequence[int]) -> Tensor:
        """Run the pending token and a chain of guesses after it; logits (1 + len(draft), vocab) float32."""

    def commit(self, accepted: int) -> None:
        """Keep the pending token and the first `accepted` guesses of the last step in the cache, nothing else."""
