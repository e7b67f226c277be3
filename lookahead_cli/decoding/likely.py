"""The likeliest next tokens of logits rows: the part of a forward pass's outcome that is worth remembering."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LIKELY = 8
"""Tokens kept per row: those behind them are hardly ever right, and a tree of some dozen nodes has no room."""


@dataclass(frozen=True)
class LikelyTokens:
    """For each row of a pass its likeliest next tokens, likeliest first. Plain lists: they are read one by one."""

    ids: list[list[int]]
    probabilities: list[list[float]]
    """Of the model at temperature 1."""

    def extend(self, later: LikelyTokens) -> None:
        """Append the rows of `later`."""
        self.ids.extend(later.ids)
        self.probabilities.extend(later.probabilities)

    def __len__(self) -> int:
        return len(self.ids)


def likely_tokens(logits: Tensor, count: int = LIKELY) -> LikelyTokens:
    """From `logits` (n, vocab): the `count` likeliest tokens of each row, fewer if the vocabulary is smaller."""
    values, ids = torch.topk(logits, min(count, logits.shape[-1]), dim=-1)
    probabilities = torch.exp(values.float() - torch.logsumexp(logits.float(), dim=-1, keepdim=True))
    return LikelyTokens(ids.tolist(), probabilities.tolist())
