"""How many records are decoded at a time: as many as bring something, and as the memory for KV caches allows."""

from __future__ import annotations

from typing import Literal

from lookahead_cli.decoding.shared_budget import SharedBudget
from lookahead_cli.errors import PromptError
from lookahead_cli.models.batch_runner import BatchRunner

FIRST_AUTO_SIZE = 8
"""Until it has been measured what passes cost."""
MOST_AUTO_SIZE = 64
"""More texts in a pass bring next to nothing, and each takes longer."""
ENOUGH = 0.9
"""Part of the best speed to be had with any batch that is good enough: the last tenth would take several times the
memory."""
MEMORY_SHARE = 0.4
"""Of the memory that is free when the run begins, for KV caches."""


class BatchSize:
    """Places and memory of a batch."""

    def __init__(self, size: int | Literal["auto"], memory: float, runner: BatchRunner) -> None:
        """`memory` bytes are there for caches of `runner`, which may have no use for as many as `size`."""
        self.fixed = None if size == "auto" else size
        self.limit = runner.most_sequences
        self.most = self._limited(FIRST_AUTO_SIZE if size == "auto" else size)
        """Records at a time."""
        self.memory = memory
        self.bytes_for = runner.bytes_for
        self.used = 0

    def check(self, tokens: int) -> None:
        """Raise PromptError if a text of so many tokens would not fit even alone."""
        needed = self.bytes_for(tokens)
        if needed > self.memory:
            raise PromptError(
                f"its KV cache for {tokens} tokens takes {needed / 1e9:.2f} GB, there is {self.memory / 1e9:.2f} GB "
                "for all caches: ask for fewer tokens, or close other programs"
            )

    def reserve(self, tokens: int) -> bool:
        """Take memory for a text that grows to so many tokens, if there is any left."""
        needed = self.bytes_for(tokens)
        if self.used + needed > self.memory:
            return False
        self.used += needed
        return True

    def free(self, tokens: int) -> None:
        """Give back what was reserved."""
        self.used -= self.bytes_for(tokens) if tokens else 0

    def follow(self, budget: SharedBudget) -> None:
        """Choose the size anew, by what passes were found to cost."""
        if self.fixed is None:
            self.most = self._limited(best_size(budget))

    def _limited(self, size: int) -> int:
        return size if self.limit is None else min(size, self.limit)


def best_size(budget: SharedBudget) -> int:
    """The fewest texts with which passes without guesses come near the best speed.

    With guesses fewer texts would be enough, but more do no harm: they get fewer guesses.
    """
    curve = budget.times.curve
    if not budget.times.measured:
        return FIRST_AUTO_SIZE
    speeds = [texts / curve[texts] for texts in range(1, MOST_AUTO_SIZE + 1)]
    return next(texts for texts, speed in enumerate(speeds, start=1) if speed >= ENOUGH * max(speeds))
