"""What a model's own generation_config.json asks of greedy decoding, beside its end-of-text ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_HONOURED = (
    "bad_words_ids",
    "begin_suppress_tokens",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "min_length",
    "min_new_tokens",
    "no_repeat_ngram_size",
    "sequence_bias",
    "suppress_tokens",
)
"""Settings with which transformers' greedy search would choose other tokens, and which this tool does not know."""


def own_repetition_penalty(generation: Mapping[str, Any]) -> float:
    """The repetition penalty the model was published with; 1 if none."""
    return float(generation.get("repetition_penalty") or 1.0)


def ignored_settings(generation: Mapping[str, Any]) -> list[str]:
    """Names of the model's own generation settings that would change its tokens and are not honoured."""
    return [name for name in NOT_HONOURED if generation.get(name)]


SAMPLING = ("temperature", "top_k", "top_p", "min_p")
"""Settings that say how the model was meant to be sampled from: suggestions, taken up by whoever asks for them."""


def suggested_sampling(generation: Mapping[str, Any]) -> dict[str, float]:
    """How the model's makers sample from it."""
    return {name: generation[name] for name in SAMPLING if isinstance(generation.get(name), int | float)}
