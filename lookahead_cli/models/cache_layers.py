"""What a layer of a transformers cache says about itself: what it holds, and how much memory that takes up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from lookahead_cli.models.runner import MOST_FORGOTTEN


@dataclass(frozen=True)
class LayerSize:
    """Memory that a layer takes up."""

    fixed: int
    """Bytes, whatever it holds."""
    entry: int
    """Bytes for each entry."""
    most_entries: float

    def bytes_for(self, tokens: int) -> int:
        return self.fixed + self.entry * int(min(tokens, self.most_entries))


def layer_size(layer: Any) -> LayerSize:
    """The size of a layer that holds one entry."""
    growing = {"keys", "values", *state_beside_keys_and_values(layer)}
    entry = fixed = 0
    for name, value in vars(layer).items():
        # A layer may have several running states, by number.
        parts = list(value.values()) if isinstance(value, dict) else [value]
        size = sum(part.numel() * part.element_size() for part in parts if isinstance(part, Tensor))
        if name in growing:
            entry += size
        else:
            fixed += size
    window = getattr(layer, "sliding_window", None)
    return LayerSize(fixed, entry, float("inf") if window is None else window - 1 + MOST_FORGOTTEN)


def keeps_a_span(layer: Any) -> bool:
    """Whether a cache layer drops entries that have left its sliding window, if it holds any yet."""
    return getattr(layer, "sliding_window", None) is not None and layer.is_initialized


def state_beside_keys_and_values(layer: Any) -> list[str]:
    """Names of tensors in a cache layer that hold something for each token and are not its keys or values."""
    return [
        name
        for name, value in vars(layer).items()
        if isinstance(value, Tensor) and value.ndim > 1 and name not in ("keys", "values")
    ]
