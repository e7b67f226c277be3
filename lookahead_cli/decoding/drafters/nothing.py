"""The empty draft: one token per step, plain decoding."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lookahead_cli.decoding.draft import Draft, VerifiedStep


class NothingDrafter:
    """Guesses nothing."""

    def begin(self, prompt: Sequence[int], logits: Tensor | None) -> None:
        pass

    def draft(self, committed: Sequence[int], limit: int) -> Draft:
        return Draft()

    def observe(self, step: VerifiedStep) -> None:
        pass
