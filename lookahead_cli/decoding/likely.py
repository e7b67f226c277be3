"""The likeliest next tokens of logits rows: the part of a forward pass's outcome that is worth remembering."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LIKELY = 8
"""Tokens kept per row: those behind them are hardly ever right, and a tree of some dozen nodes has no room."""


BLOCK = 64
"""Entries of a row that are looked at together."""
CERTAINTY_EDGES = (0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)
CERTAINTIES = len(CERTAINTY_EDGES) + 1


def certainty(probability: float) -> int:
    """A probability in coarse steps, 0 to 10: how sure the model was."""
    return bisect_right(CERTAINTY_EDGES, probability)


def expected_of(kind: int) -> float:
    """Roughly how often a guess of this certainty is right if the context is only like the one at hand."""
    return 0.6 * (0.005, *CERTAINTY_EDGES)[kind]


@dataclass(frozen=True)
class LikelyTokens:
    """For each row of a pass its likeliest next tokens, likeliest first. Plain lists: they are read one by one."""

    ids: list[list[int]]
    probabilities: list[list[float]]
    """Of the model at temperature 1."""
    first: int = 0
    """Of a prompt: how many of its tokens have no row, since they had been read before. Row 0 belongs to the next."""

    def extend(self, later: LikelyTokens) -> None:
        """Append the rows of `later`."""
        self.ids.extend(later.ids)
        self.probabilities.extend(later.probabilities)

    @cached_property
    def kinds(self) -> list[dict[int, int]]:
        """For each row its tokens with their certainty. Shared by all who keep it: not to be changed."""
        return [
            dict(zip(ids, map(certainty, probabilities), strict=True))
            for ids, probabilities in zip(self.ids, self.probabilities, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.ids)


def likely_tokens(logits: Tensor, count: int = LIKELY) -> LikelyTokens:
    """From `logits` (n, vocab): the `count` likeliest tokens of each row, fewer if the vocabulary is smaller."""
    logits = logits.float()
    ids = largest(logits, min(count, logits.shape[-1]))
    # The fused kernel beats logsumexp, though most of what it writes is not read.
    probabilities = torch.log_softmax(logits, dim=-1).gather(1, ids).exp()
    return LikelyTokens(ids.tolist(), probabilities.tolist())


def largest(rows: Tensor, count: int) -> Tensor:
    """Indices (n, count) of the largest entries of each row (n, m), largest first.

    The same as `topk`, several times as fast on a vocabulary: only the blocks with the largest maxima are sorted, and
    the `count` largest entries lie in the `count` blocks whose maxima are largest.
    """
    if rows.shape[-1] % BLOCK or rows.shape[-1] < BLOCK * count:
        return torch.topk(rows, count, dim=-1).indices
    blocks = rows.reshape(len(rows), -1, BLOCK)
    best = torch.topk(blocks.amax(dim=-1), count).indices  # (n, count)
    candidates = blocks.gather(1, best[:, :, None].expand(-1, -1, BLOCK)).view(len(rows), -1)
    places = torch.topk(candidates, count).indices
    return best.gather(1, places // BLOCK) * BLOCK + places % BLOCK
