"""Rotary position embedding (Su et al. 2021, arXiv 2104.09864): the angles, and a table of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lookahead_cli.models.lean.rotary_scaling import RotaryScaling

if TYPE_CHECKING:
    from lookahead_cli.models.lean.architecture import Architecture

TABLE_STEP = 1024
"""Positions a table grows by."""


def frequencies(rotary: RotaryScaling, width: int) -> Tensor:
    """Radians per position for each pair of a head of `width`; (width / 2,) float32."""
    plain = 1.0 / (rotary.base ** (torch.arange(0, width, 2, dtype=torch.float) / width))
    if rotary.kind == "linear":
        return plain / rotary.factor
    if rotary.kind == "llama3":
        return _llama3(plain, rotary)
    return plain


def _llama3(plain: Tensor, rotary: RotaryScaling) -> Tensor:
    """Slow frequencies are divided by the factor, fast ones kept, those between mixed (Llama 3.1, Meta 2024)."""
    low, high = rotary.low_frequency_factor, rotary.high_frequency_factor
    turns = rotary.original_context / (2 * math.pi / plain)  # within the context the model was first trained on
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return torch.where(keep == 1, plain, (1 - keep) * plain / rotary.factor + keep * plain)


class RotaryTable:
    """Cosines and sines by position and head, as far as they have been needed.

    Queries, keys and values lie side by side, so one multiplication serves them all: queries are scaled on the way,
    values multiplied by 1. A head x becomes `x * cosines + x.roll(width / 2) * sines`.
    """

    def __init__(self, architecture: Architecture, dtype: torch.dtype, device: torch.device) -> None:
        self.frequencies = frequencies(architecture.rotary, architecture.head_width)
        self.dtype, self.device = dtype, device
        queries, keys = architecture.heads, architecture.key_value_heads
        scale = architecture.head_width**-0.5
        self.turned = torch.tensor([scale] * queries + [1.0] * keys + [0.0] * keys)[:, None]
        """For each head how much of its turned value counts."""
        self.cosines = self.sines = torch.empty((0, architecture.head_width))

    def at(self, positions: Tensor, highest: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines (n, heads, width) for `positions` (n,), none above `highest`."""
        if highest >= len(self.cosines):
            count = TABLE_STEP * (highest // TABLE_STEP + 1)
            angles = torch.outer(torch.arange(count, dtype=torch.float), self.frequencies)
            cosines, sines = angles.cos(), angles.sin()
            self.cosines, self.sines = torch.cat([cosines, cosines], 1), torch.cat([-sines, sines], 1)
        places = positions.cpu()
        cosines = self.cosines[places].unsqueeze(1) * self.turned + (self.turned == 0)
        sines = self.sines[places].unsqueeze(1) * self.turned
        return cosines.to(self.device, self.dtype), sines.to(self.device, self.dtype)
