"""What sets the models of the Llama family apart, as data: read from config.json, without transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lookahead_cli.errors import ModelError
from lookahead_cli.models.lean.rotary_scaling import RotaryScaling, read_rotary

MOST_LAYERS = 10_000
"""Whoever tries to make more is busy until the memory is full."""


class NotLean(Exception):
    """The lean runner does not compute this model; the message says why, in words that follow "because"."""


@dataclass(frozen=True)
class Traits:
    """What a model type does beyond a plain Llama."""

    query_key_norm: bool = False
    """RMSNorm over each head's query and key before rotation (Qwen3)."""
    query_key_value_bias: bool | None = None
    """Biases on query, key and value; None: as `attention_bias` in the config says."""
    output_bias: bool | None = None
    """A bias on the attention output; None: as `attention_bias` in the config says."""
    head_width: int | None = None
    """Width of a head where the config does not say; None: hidden size over heads."""
    sliding: Literal["never", "always", "by layer"] = "never"
    """What `sliding_window` in the config is taken for: nothing, all layers (Mistral), or some if asked for (Qwen)."""
    unsaid: Mapping[str, Any] = field(default_factory=dict)
    """What keys stand for that the config leaves out, as in transformers."""


_QWEN = {"max_position_embeddings": 32_768, "num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28}
_MISTRAL = {"max_position_embeddings": 131_072, "num_key_value_heads": 8, "sliding_window": 4096}
FAMILY: dict[str, Traits] = {
    "llama": Traits(unsaid={"max_position_embeddings": 2048}),  # SmolLM and SmolLM2 as well
    "mistral": Traits(query_key_value_bias=False, output_bias=False, sliding="always", unsaid=_MISTRAL),
    "qwen2": Traits(query_key_value_bias=True, output_bias=False, sliding="by layer", unsaid=_QWEN),
    "qwen3": Traits(query_key_norm=True, head_width=128, sliding="by layer", unsaid=_QWEN),
}
"""`model_type` in config.json -> its traits. A further model of the family is one more entry."""


@dataclass(frozen=True)
class Architecture:
    """Shapes and switches of one model."""

    vocab: int
    hidden: int
    intermediate: int
    layers: int
    heads: int
    key_value_heads: int
    head_width: int
    norm_epsilon: float
    rotary: RotaryScaling
    context_length: int | None
    tied: bool
    """Whether the output layer is the embedding."""
    query_key_value_bias: bool
    output_bias: bool
    feed_forward_bias: bool
    query_key_norm: bool
    windows: tuple[int | None, ...]
    """For each layer how many positions, its own included, a token looks back at; None: all."""

    @property
    def entry_width(self) -> int:
        """Numbers that a KV cache holds for each token."""
        return 2 * self.layers * self.key_value_heads * self.head_width

    @property
    def parameters(self) -> int:
        """Number of weights, norms and biases left out: what memory is needed for."""
        attention = self.hidden * self.head_width * 2 * (self.heads + self.key_value_heads)
        layer = attention + 3 * self.hidden * self.intermediate
        return self.layers * layer + (1 if self.tied else 2) * self.vocab * self.hidden


def read_architecture(config: Mapping[str, Any]) -> Architecture:
    """The architecture that a config.json describes.

    Raises:
        ModelError: it is of no model at all.
        NotLean: it is none of the family, or has a switch set that is not known here.
    """
    try:
        return _read(config)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise NotLean("its config.json holds values that are none") from None


def _read(config: Mapping[str, Any]) -> Architecture:
    kind = config.get("model_type")
    traits = FAMILY.get(str(kind))
    if traits is None:
        told = f"is {kind}" if kind is not None else "names no model_type"
        raise NotLean(f"it knows the model types {', '.join(FAMILY)}, and this one {told}")
    config = {**traits.unsaid, **config}
    if (activation := config.get("hidden_act", "silu")) != "silu":
        raise NotLean(f"it computes the activation silu only, and this model has {activation}")
    if config.get("quantization_config"):
        raise NotLean("the weights are quantised in a way it does not read")
    heads, layers = _integer(config, "num_attention_heads"), _integer(config, "num_hidden_layers")
    hidden = _integer(config, "hidden_size")
    if layers > MOST_LAYERS:
        raise ModelError(f"config.json says more than {MOST_LAYERS:,} layers, and no model has so many: fetch it again")
    key_value_heads = config.get("num_key_value_heads") or heads
    head_width = config.get("head_dim") or traits.head_width or hidden // heads
    if heads % key_value_heads or head_width % 2:
        raise NotLean(f"it cannot share {key_value_heads} key heads of width {head_width} among {heads} heads")
    attention_bias = bool(config.get("attention_bias", False))
    return Architecture(
        vocab=_integer(config, "vocab_size"),
        hidden=hidden,
        intermediate=_integer(config, "intermediate_size"),
        layers=layers,
        heads=heads,
        key_value_heads=key_value_heads,
        head_width=head_width,
        norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
        rotary=read_rotary(config),
        context_length=_optional(config, "max_position_embeddings"),
        tied=bool(config.get("tie_word_embeddings", False)),
        query_key_value_bias=_first(traits.query_key_value_bias, attention_bias),
        output_bias=_first(traits.output_bias, attention_bias),
        feed_forward_bias=bool(config.get("mlp_bias", False)) if kind == "llama" else False,
        query_key_norm=traits.query_key_norm,
        windows=_windows(config, traits, layers),
    )


def _integer(config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    if not isinstance(value, int) or value < 1:
        raise NotLean(f"config.json says no {key}")
    return value


def _optional(config: Mapping[str, Any], key: str) -> int | None:
    return None if config.get(key) is None else _integer(config, key)


def _first(fixed: bool | None, otherwise: bool) -> bool:
    return otherwise if fixed is None else fixed


def _windows(config: Mapping[str, Any], traits: Traits, layers: int) -> tuple[int | None, ...]:
    if traits.sliding == "never":
        return (None,) * layers
    window = _optional(config, "sliding_window")
    if traits.sliding == "always":
        return (window,) * layers
    if not window or not config.get("use_sliding_window", False):
        return (None,) * layers
    kinds = config.get("layer_types")
    if kinds is None:  # the layers from this one on slide
        first = config["max_window_layers"]
        kinds = ["sliding_attention" if layer >= first else "full_attention" for layer in range(layers)]
    if len(kinds) != layers or not set(kinds) <= {"sliding_attention", "full_attention"}:
        raise NotLean(f"it does not know the layer types {', '.join(sorted(set(map(str, kinds))))}")
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)
