"""What a model says about itself in its small files and in the heads of its large ones: nothing here loads weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookahead_cli.errors import ModelError
from lookahead_cli.models.folder import read_json
from lookahead_cli.models.loading import CONTEXT_KEYS

if TYPE_CHECKING:
    from lookahead_cli.models.gguf_header import GgufHeader

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8",
    "F8_E5M2": "float8",
    "I8": "int8",
    "U8": "uint8",
    "I32": "int32",
    "I64": "int64",
}
"""What safetensors calls a number format -> what it is called everywhere else."""
_LANGUAGE_MODEL = re.compile(r"(ForCausalLM|LMHeadModel|WithLMHead(Model)?)$")
"""Names of classes that continue text."""
_PERHAPS = re.compile(r"ForConditionalGeneration$")
"""Names of classes that continue text if they are not encoder and decoder: models that read pictures too."""


@dataclass(frozen=True)
class Facts:
    """What can be said about a model without loading it. None: it does not say."""

    architecture: str
    """The class that computes it ("LlamaForCausalLM"), or what a GGUF file calls it ("llama")."""
    language_model: bool
    """Whether it continues text, as far as its names tell."""
    parameters: int | None
    dtypes: tuple[str, ...]
    """In which number formats most of its weights are stored, the most common one first."""
    layers: int | None
    hidden: int | None
    heads: int | None
    key_value_heads: int | None
    head_width: int | None
    vocab: int | None
    context_length: int | None


def folder_facts(folder: Path, weights: Iterable[Path] = ()) -> Facts:
    """Of the model in `folder` with those weight files; those that are not safetensors say nothing.

    Raises ModelError for files that cannot be read.
    """
    return config_facts(read_json(folder / "config.json"), stored_weights(weights))


def config_facts(config: Mapping[str, Any], stored: Mapping[str, int]) -> Facts:
    """Of a model with this config.json and so many weights of each dtype."""
    text = config.get("text_config")
    told: Mapping[str, Any] = {**config, **text} if isinstance(text, Mapping) else config
    hidden = _number(told, "hidden_size", "n_embd", "d_model", "dim")
    heads = _number(told, "num_attention_heads", "n_head", "num_heads", "n_heads")
    width = _number(told, "head_dim")
    return Facts(
        architecture=_class_name(config),
        language_model=_continues_text(config),
        parameters=sum(stored.values()) or None,
        dtypes=tuple(_DTYPES.get(name, name.lower()) for name in stored),
        layers=_number(told, "num_hidden_layers", "n_layer", "num_layers", "n_layers"),
        hidden=hidden,
        heads=heads,
        key_value_heads=_number(told, "num_key_value_heads", "n_head_kv") or heads,
        head_width=width or (hidden // heads if hidden and heads else None),
        vocab=_number(told, "vocab_size"),
        context_length=_number(told, *CONTEXT_KEYS),
    )


def gguf_facts(header: GgufHeader) -> Facts:
    """Of the model in a GGUF file."""

    def told(key: str) -> int | None:
        return header.integer(f"{header.architecture}.{key}", 0) or None

    hidden, heads = told("embedding_length"), told("attention.head_count")
    return Facts(
        architecture=header.architecture,
        language_model="tokenizer.ggml.model" in header.metadata,
        parameters=header.parameters,
        dtypes=tuple(header.types),
        layers=told("block_count"),
        hidden=hidden,
        heads=heads,
        key_value_heads=told("attention.head_count_kv") or heads,
        head_width=told("attention.key_length") or (hidden // heads if hidden and heads else None),
        vocab=told("vocab_size") or header.lengths.get("tokenizer.ggml.tokens"),
        context_length=told("context_length"),
    )


def gguf_config(header: GgufHeader) -> dict[str, Any]:
    """What config.json will say of a converted GGUF file, as far as it decides over how the model is run."""
    facts = gguf_facts(header)
    told = {
        "model_type": header.architecture,
        "vocab_size": facts.vocab,
        "hidden_size": facts.hidden,
        "intermediate_size": header.integer(f"{header.architecture}.feed_forward_length", 0),
        "num_hidden_layers": facts.layers,
        "num_attention_heads": facts.heads,
        "num_key_value_heads": facts.key_value_heads,
        "head_dim": facts.head_width,
        "max_position_embeddings": facts.context_length,
        "tie_word_embeddings": "output.weight" not in header.tensors,
    }
    return {key: value for key, value in told.items() if value is not None}


def stored_weights(files: Iterable[Path]) -> dict[str, int]:
    """How many numbers the safetensors among `files` hold in each format, the most common one first.

    Reads their heads only, which checks them against their sizes. Raises ModelError for one that is damaged.
    """
    from safetensors import SafetensorError, safe_open

    counts: Counter[str] = Counter()
    for file in files:
        if file.suffix != ".safetensors":
            continue
        try:
            with safe_open(file, framework="np") as opened:
                for name in opened.keys():  # noqa: SIM118 - it is no mapping
                    tensor = opened.get_slice(name)
                    counts[tensor.get_dtype()] += prod(tensor.get_shape())
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file} is damaged or cut short; fetch the file again.") from error
    return dict(counts.most_common())


def _class_name(config: Mapping[str, Any]) -> str:
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else str(config.get("model_type", ""))


def _continues_text(config: Mapping[str, Any]) -> bool:
    if config.get("is_encoder_decoder"):
        return False
    named = config.get("architectures")
    if not isinstance(named, list) or not named:
        return "model_type" in config  # an old one that names no class: only loading it could tell
    return any(_LANGUAGE_MODEL.search(str(name)) or _PERHAPS.search(str(name)) for name in named)


def _number(told: Mapping[str, Any], *keys: str) -> int | None:
    """The first of the keys that says a whole number."""
    values = (told.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and value > 0), None)
