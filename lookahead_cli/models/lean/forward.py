"""The forward pass of the Llama family around attention: embedding, norms, linear layers, rotary positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lookahead_cli.models.lean.architecture import Architecture
from lookahead_cli.models.lean.rotary import RotaryTable
from lookahead_cli.models.lean.weights import LayerWeights, Weights

FEWEST_ROWS = {torch.float32: 8, torch.bfloat16: 2, torch.float16: 2}
"""Rows below which linear kernels take another code path, with another order of summation."""
FASTEST_ROWS = 4
"""Packed weights are multiplied faster with so many rows than with fewer."""

Attend = Callable[[int, Tensor], Tensor]
"""From the index of a layer and heads (rows, query heads + key heads + value heads, width), the queries scaled, queries
and keys turned, to what attention makes of them: (rows, query heads * width)."""


class LeanForward:
    """A model's weights and what is done with them, row by row: who looks at whom is for others to say."""

    def __init__(self, architecture: Architecture, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self.architecture, self.weights = architecture, weights
        self.dtype, self.device = dtype, device
        self.rotary = RotaryTable(architecture, dtype, device)
        self.epsilon = torch.tensor(architecture.norm_epsilon, device=device)
        self.fewest_rows = FEWEST_ROWS[dtype] if weights.four_bits else max(FEWEST_ROWS[dtype], FASTEST_ROWS)

    @torch.inference_mode()
    def run(self, tokens: Sequence[int], positions: Sequence[int], attend: Attend) -> Tensor:
        """Hidden states (rows, hidden) after the last layer, float32.

        There are as many rows as tokens, but at least `fewest_rows`: what is missing is the first row again.
        """
        weights = self.weights
        padding = max(self.fewest_rows - len(tokens), 0)
        ids = torch.tensor([*tokens, *[tokens[0]] * padding], device=self.device)
        places = torch.tensor([*positions, *[positions[0]] * padding], device=self.device)
        cosines, sines = self.rotary.at(places, max(positions))
        hidden = functional.embedding(ids, weights.embedding).float()
        for index, layer in enumerate(weights.layers):
            heads = self._heads(self._norm(hidden, layer.attention_norm), layer, cosines, sines)
            hidden.add_(layer.output(attend(index, heads)))
            normed = self._norm(hidden, layer.feed_forward_norm)
            hidden.add_(layer.down(layer.gate(normed).mul_(layer.up(normed))))
        return hidden

    @torch.inference_mode()
    def logits(self, rows: Tensor) -> Tensor:
        """(n, vocab) float32 for hidden states `rows` (n, hidden). No fewer than `fewest_rows` keep their bits."""
        return self.weights.head(self._norm(rows, self.weights.final_norm)).float()

    def _heads(self, normed: Tensor, layer: LayerWeights, cosines: Tensor, sines: Tensor) -> Tensor:
        """Queries, keys and values of every row, side by side, as `Attend` takes them."""
        shape, width = self.architecture, self.architecture.head_width
        groups = shape.key_value_heads
        heads = layer.query_key_value(normed).view(len(normed), -1, width)
        if layer.query_norm is not None and layer.key_norm is not None:
            queries, keys, values = torch.split(heads, [shape.heads, groups, groups], dim=1)
            heads = torch.cat([self._norm(queries, layer.query_norm), self._norm(keys, layer.key_norm), values], dim=1)
        return torch.addcmul(heads * cosines, heads.roll(width // 2, -1), sines)

    def _norm(self, rows: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467) of the last dimension, in float32 up to the end."""
        length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.addcmul(self.epsilon, length, length, value=1 / rows.shape[-1]).rsqrt_()
        return (rows * scale).mul_(weight).to(self.dtype)
