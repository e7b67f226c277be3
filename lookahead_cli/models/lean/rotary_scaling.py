"""How a model stretches its positions, as data: read from config.json, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RotaryScaling:
    """Base and stretching of the angles: `kind` is "default", "linear" or "llama3"."""

    base: float
    kind: str = "default"
    factor: float = 1.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    original_context: int = 8192


def read_rotary(config: Mapping[str, Any]) -> RotaryScaling:
    """What config.json says of it, in the form of transformers 5 (`rope_parameters`) or of earlier ones.

    Raises:
        NotLean: a kind of scaling that is not known here.
    """
    from lookahead_cli.models.lean.architecture import NotLean

    told = config.get("rope_parameters") or config.get("rope_scaling") or {}
    base = told.get("rope_theta", config.get("rope_theta", 10_000.0))
    kind = told.get("rope_type", told.get("type", "default"))
    partial = told.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    if kind not in ("default", "linear", "llama3") or partial != 1.0:
        raise NotLean(f"it does not stretch positions as this model does ({kind})")
    if kind == "default":
        return RotaryScaling(float(base))
    try:
        if kind == "linear":
            return RotaryScaling(float(base), kind, float(told["factor"]))
        return RotaryScaling(
            float(base),
            kind,
            float(told["factor"]),
            float(told["low_freq_factor"]),
            float(told["high_freq_factor"]),
            int(told["original_max_position_embeddings"]),
        )
    except (KeyError, TypeError, ValueError):
        raise NotLean(f"config.json stretches positions by {kind} without saying how far") from None
