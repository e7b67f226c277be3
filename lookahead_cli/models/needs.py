"""What it takes to run a model: number format, device and memory, worked out without loading it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookahead_cli.models.devices import (
    choose_device,
    half_precision,
    name_of,
    named_dtype,
    transformers_dtype,
)
from lookahead_cli.models.facts import Facts
from lookahead_cli.models.loading import SPREAD, Wish

if TYPE_CHECKING:
    from lookahead_cli.models.lean.architecture import Architecture

MANY = 1000
"""Tokens that the memory of a context is told for."""


@dataclass(frozen=True)
class Needs:
    """What it takes to run a model as the settings say."""

    dtype: str
    device: str
    weight_bytes: int | None
    """Memory for the weights; None where it cannot be told."""
    four_bit: bool
    """Whether weights of 4 bits are run as such, which `weight_bytes` takes into account."""
    context_bytes: int | None
    """Memory for each MANY tokens of context; None where it cannot be told."""


def lean_needs(architecture: Architecture, wish: Wish, knowledge: Path | None) -> Needs:
    """Of a model that the lean runner computes."""
    import torch

    from lookahead_cli.models.lean.exactness import remembered_rows
    from lookahead_cli.models.lean.fourbit import can_run

    device = choose_device(wish.device)
    dtype = named_dtype(wish.dtype) or half_precision(device)
    if wish.dtype == "auto" and device.type == "cpu" and remembered_rows(architecture, dtype, device):
        dtype = torch.float32
    saved = _saved_by_four_bits(knowledge, dtype.itemsize) if can_run(dtype, device) and wish.weights != "full" else 0
    return Needs(
        name_of(dtype), str(device), architecture.parameters * dtype.itemsize - saved, saved > 0,
        architecture.entry_width * dtype.itemsize * MANY,
    )  # fmt: skip


def transformers_needs(facts: Facts, config: Mapping[str, Any], wish: Wish) -> Needs:
    """Of a model that transformers computes, as far as its config tells."""
    device = choose_device("auto" if wish.device == SPREAD else wish.device)
    dtype = transformers_dtype(wish.dtype, device)
    packed = bool(config.get("quantization_config"))
    weights = None if facts.parameters is None or packed else facts.parameters * dtype.itemsize
    return Needs(name_of(dtype), str(device), weights, False, _context_bytes(facts, config, dtype.itemsize))


def lean_facts(facts: Facts, architecture: Architecture) -> Facts:
    """`facts` with what the config leaves out and the lean runner knows."""
    return replace(
        facts,
        parameters=facts.parameters or architecture.parameters,
        layers=architecture.layers,
        hidden=architecture.hidden,
        heads=architecture.heads,
        key_value_heads=architecture.key_value_heads,
        head_width=architecture.head_width,
        vocab=architecture.vocab,
        context_length=architecture.context_length or facts.context_length,
    )


def _context_bytes(facts: Facts, config: Mapping[str, Any], itemsize: int) -> int | None:
    """Keys and values of MANY tokens. Layers that keep something else, or compress them, cannot be told by numbers."""
    kinds = config.get("layer_types")
    plain = {"full_attention", "sliding_attention"}
    if config.get("kv_lora_rank") or (isinstance(kinds, list) and not set(map(str, kinds)) <= plain):
        return None
    if facts.layers is None or facts.key_value_heads is None or facts.head_width is None:
        return None
    window = config.get("sliding_window")
    held = MANY * facts.layers
    if isinstance(kinds, list):
        slides = min(MANY, window) if isinstance(window, int) else MANY
        held = sum(slides if kind == "sliding_attention" else MANY for kind in kinds)
    return 2 * facts.key_value_heads * facts.head_width * itemsize * held


def _saved_by_four_bits(knowledge: Path | None, itemsize: int) -> int:
    """Bytes less than in full, by what was kept when 4-bit weights were found in an earlier run."""
    from safetensors import SafetensorError, safe_open

    saved = 0
    for file in [] if knowledge is None else knowledge.glob("four-bit-*.safetensors"):
        with suppress(OSError, SafetensorError), safe_open(file, framework="np") as opened:
            packed = [name for name in opened.keys() if name.endswith(".packed")]  # noqa: SIM118 - it is no mapping
            weights = sum(2 * prod(opened.get_slice(name).get_shape()) for name in packed)
            saved = max(saved, weights * itemsize - file.stat().st_size)
    return saved
