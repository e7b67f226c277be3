"""Weights straight from safetensors into the form the kernels like best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import functional

from lookahead_cli.errors import ModelError
from lookahead_cli.models.lean.architecture import Architecture
from lookahead_cli.models.lean.fourbit import FourBitWeight, FourBitWeights

Linear = Callable[[Tensor], Tensor]
"""From (n, inputs) to (n, outputs)."""
PACKING_ROWS = 16
"""Rows the packed layout is made for: about the width of a step. Any other number of rows can be run too."""


@dataclass(frozen=True)
class LayerWeights:
    """One layer, with what runs on the same input fused into one product."""

    attention_norm: Tensor
    query_key_value: Linear
    query_norm: Tensor | None
    key_norm: Tensor | None
    output: Linear
    feed_forward_norm: Tensor
    gate: Linear
    """With the activation silu behind it."""
    up: Linear
    down: Linear


@dataclass(frozen=True)
class Weights:
    """All weights of a model; `embedding` is (vocab, hidden)."""

    embedding: Tensor
    layers: list[LayerWeights]
    final_norm: Tensor
    head: Linear
    four_bits: bool
    """Whether layers run on weights of 4 bits."""


class Tensors:
    """Tensors by name, whichever files they lie in.

    A file is opened anew for each: what has been read of a mapped file counts as used memory until it is closed.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.folder = files[0].parent
        self.homes: dict[str, Path] = {}
        for file in files:
            with safe_open(file, framework="pt") as opened:
                self.homes |= dict.fromkeys(opened.keys(), file)

    def __contains__(self, name: str) -> bool:
        return name in self.homes

    def get(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """The tensor of that name.

        Raises:
            ModelError: there is none, or it has another shape.
        """
        if name not in self.homes:
            raise ModelError(
                f"{self.folder} lacks the weight {name}; its config.json and its weights do not belong together, so "
                "fetch both again"
            )
        with safe_open(self.homes[name], framework="pt") as opened:
            tensor: Tensor = opened.get_tensor(name)
        if tensor.shape != shape:
            raise ModelError(
                f"{self.folder} stores {name} in the shape {tuple(tensor.shape)}, but its config.json asks for "
                f"{shape}; the two do not belong together, so fetch both again"
            )
        return tensor


def read_weights(
    files: Sequence[Path],
    architecture: Architecture,
    dtype: torch.dtype,
    device: torch.device,
    four_bit: FourBitWeights | None = None,
) -> Weights:
    """Read, fuse and pack. One weight at a time, so that little more than the packed weights is ever in memory.

    With `four_bit`, weights that have no more than 4 bits are run by the kernel for them.

    Raises:
        ModelError: the files do not hold this architecture.
    """
    shape = architecture
    queries, keys = shape.heads * shape.head_width, shape.key_value_heads * shape.head_width
    pack = packer(dtype, device)
    tensors = Tensors(files)
    staging = torch.empty(0, dtype=dtype)
    """What is to be packed is put together in one place: memory taken and freed for each would be left in holes."""
    prefix = "model." if "model.embed_tokens.weight" in tensors else ""

    def vector(name: str, width: int) -> Tensor:
        return tensors.get(prefix + name, (width,)).to(device, torch.float32)

    def linear(names: Mapping[str, int], inputs: int, biased: bool, activation: str = "none") -> Linear:
        def read(wanted: torch.dtype = torch.float32) -> Tensor:
            weight = torch.empty(0, dtype=wanted) if wanted != dtype else staging
            weight = weight.resize_(sum(names.values()), inputs)
            done = 0
            for name, rows in names.items():
                weight[done : done + rows] = tensors.get(f"{name}.weight", (rows, inputs))
                done += rows
            return weight

        biases = [tensors.get(f"{name}.bias", (rows,)).to(dtype) for name, rows in names.items() if biased]
        bias = torch.cat(biases).to(device) if biases else None
        few_bits = four_bit.find("+".join(names), read) if four_bit is not None else None
        if few_bits is not None:
            return _with_few_bits(few_bits, bias, activation)
        return pack(read(dtype).to(device), bias, activation)

    def layer(index: int) -> LayerWeights:
        here = f"layers.{index}."
        attention, feed_forward = f"{prefix}{here}self_attn.", f"{prefix}{here}mlp."
        normed = shape.query_key_norm
        return LayerWeights(
            attention_norm=vector(f"{here}input_layernorm.weight", shape.hidden),
            query_key_value=linear(
                {f"{attention}q_proj": queries, f"{attention}k_proj": keys, f"{attention}v_proj": keys},
                shape.hidden,
                shape.query_key_value_bias,
            ),
            query_norm=vector(f"{here}self_attn.q_norm.weight", shape.head_width) if normed else None,
            key_norm=vector(f"{here}self_attn.k_norm.weight", shape.head_width) if normed else None,
            output=linear({f"{attention}o_proj": shape.hidden}, queries, shape.output_bias),
            feed_forward_norm=vector(f"{here}post_attention_layernorm.weight", shape.hidden),
            gate=linear(
                {f"{feed_forward}gate_proj": shape.intermediate}, shape.hidden, shape.feed_forward_bias, "swish"
            ),
            up=linear({f"{feed_forward}up_proj": shape.intermediate}, shape.hidden, shape.feed_forward_bias),
            down=linear({f"{feed_forward}down_proj": shape.hidden}, shape.intermediate, shape.feed_forward_bias),
        )

    embedding = tensors.get(f"{prefix}embed_tokens.weight", (shape.vocab, shape.hidden)).to(dtype).to(device)
    weights = Weights(
        embedding=embedding,
        layers=[layer(index) for index in range(shape.layers)],
        final_norm=vector("norm.weight", shape.hidden),
        head=pack(embedding, None, "none") if shape.tied else linear({"lm_head": shape.vocab}, shape.hidden, False),
        four_bits=four_bit is not None and bool(four_bit.found),
    )
    if four_bit is not None:
        four_bit.keep()
    return weights


def packer(dtype: torch.dtype, device: torch.device) -> Callable[[Tensor, Tensor | None, str], Linear]:
    """What makes a Linear of a weight (outputs, inputs), a bias and an activation ("none" or "swish")."""
    has_kernels = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    packs = device.type == "cpu" and has_kernels and dtype in PACKED_DTYPES
    return _packed if packs else _plain


PACKED_DTYPES = (torch.bfloat16, torch.float32)
"""Where a layout packed once for oneDNN is faster."""


def _packed(weight: Tensor, bias: Tensor | None, activation: str) -> Linear:
    kernels = torch.ops.mkldnn
    packed = kernels._reorder_linear_weight(weight, PACKING_ROWS)
    run = kernels._linear_pointwise

    def linear(rows: Tensor) -> Tensor:
        result: Tensor = run(rows, packed, bias, activation, [], "")
        return result

    return linear


def _with_few_bits(weight: FourBitWeight, bias: Tensor | None, activation: str) -> Linear:
    def linear(rows: Tensor) -> Tensor:
        result = weight(rows)
        if bias is not None:
            result.add_(bias)
        return functional.silu(result, inplace=True) if activation == "swish" else result

    return linear


def _plain(weight: Tensor, bias: Tensor | None, activation: str) -> Linear:
    own = weight.clone()
    if activation == "none":
        return lambda rows: functional.linear(rows, own, bias)
    return lambda rows: functional.silu(functional.linear(rows, own, bias))
