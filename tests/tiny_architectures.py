"""Tiny random models of many architectures, made from transformers configs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

VOCAB = 97
SHORT_WINDOW = 8
"""A sliding window that every test outgrows."""

_SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "tie_word_embeddings": False,  # tied, some of them say the same token for ever
    "bos_token_id": 1,
    "eos_token_id": None,
    "pad_token_id": 0,
}


def sizes(**changes: Any) -> dict[str, Any]:
    """The common sizes with `changes`."""
    return {**_SIZES, **changes}


REWINDABLE: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**_SIZES),
    "qwen2": lambda: transformers.Qwen2Config(**_SIZES),
    "qwen3": lambda: transformers.Qwen3Config(**sizes(head_dim=8)),
    "mistral": lambda: transformers.MistralConfig(**sizes(sliding_window=SHORT_WINDOW)),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **sizes(head_dim=8, sliding_window=SHORT_WINDOW, layer_types=["sliding_attention", "full_attention"])
    ),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=256, initializer_range=0.2,
        tie_word_embeddings=False, bos_token_id=1, eos_token_id=None,
    ),
    "gpt-neox": lambda: transformers.GPTNeoXConfig(**_SIZES),
    "phi": lambda: transformers.PhiConfig(**_SIZES),
    "phi3": lambda: transformers.Phi3Config(**_SIZES),
}  # fmt: skip
"""Models whose cache can take guesses back."""

RUNNING_STATE: dict[str, Callable[[], Any]] = {
    "mamba": lambda: transformers.MambaConfig(
        vocab_size=VOCAB, hidden_size=32, state_size=8, num_hidden_layers=2, initializer_range=0.2,
        tie_word_embeddings=False, bos_token_id=1, eos_token_id=None, pad_token_id=0,
    ),
    "bamba": lambda: transformers.BambaConfig(
        **sizes(
            mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, attn_layer_indices=[1],
            mamba_chunk_size=16,
        )
    ),
    "qwen3-next": lambda: transformers.Qwen3NextConfig(
        **sizes(
            head_dim=8, layer_types=["linear_attention", "full_attention"], num_experts=2, num_experts_per_tok=1,
            moe_intermediate_size=16, shared_expert_intermediate_size=16, linear_num_value_heads=2,
            linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
        )
    ),
}  # fmt: skip
"""Models with layers that only know a running state: guesses cannot be taken back."""


def tiny_model(config: Any, seed: int = 0) -> Any:
    """A random model in eval mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return model.eval()
