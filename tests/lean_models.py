"""Tiny random models for the lean runner, saved as transformers saves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from lookahead_cli.models.folder import read_json
from lookahead_cli.models.lean.architecture import Architecture, read_architecture
from lookahead_cli.models.lean.forward import LeanForward
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.lean.weights import read_weights
from tests.tiny_architectures import SHORT_WINDOW, VOCAB, sizes, tiny_model

CPU = torch.device("cpu")
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
QWEN_WINDOW: dict[str, Any] = {"use_sliding_window": True, "sliding_window": SHORT_WINDOW, "max_window_layers": 1}
FAMILY: dict[str, Any] = {
    "llama": lambda **more: transformers.LlamaConfig(**sizes(**more)),
    "llama-biases": lambda **more: transformers.LlamaConfig(**sizes(attention_bias=True, mlp_bias=True, **more)),
    "llama-3": lambda **more: transformers.LlamaConfig(**sizes(rope_parameters=LLAMA3, **more)),
    "llama-linear": lambda **more: transformers.LlamaConfig(
        **sizes(rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}, **more)
    ),
    "llama-tied": lambda **more: transformers.LlamaConfig(**sizes(tie_word_embeddings=True, **more)),
    "llama-all-heads": lambda **more: transformers.LlamaConfig(**sizes(num_key_value_heads=4, **more)),
    "llama-wide-heads": lambda **more: transformers.LlamaConfig(**sizes(head_dim=16, **more)),
    "llama-real-heads": lambda **more: transformers.LlamaConfig(
        **sizes(
            hidden_size=384, intermediate_size=1536, num_attention_heads=6, head_dim=64, initializer_range=0.05, **more
        )
    ),
    "mistral": lambda **more: transformers.MistralConfig(**sizes(sliding_window=None, **more)),
    "mistral-window": lambda **more: transformers.MistralConfig(**{**sizes(sliding_window=SHORT_WINDOW), **more}),
    "qwen2": lambda **more: transformers.Qwen2Config(**sizes(**more)),
    "qwen2-window": lambda **more: transformers.Qwen2Config(**{**sizes(**QWEN_WINDOW), **more}),
    "qwen3": lambda **more: transformers.Qwen3Config(**sizes(head_dim=8, **more)),
}
"""Configs of what the lean runner knows, with room for changes."""


def save_model(folder: Path, config: Any, seed: int = 0) -> Any:
    """A random model, saved in `folder`. Norms and biases are random too, which they are not in a fresh model."""
    model = tiny_model(config, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2 + (0 if "bias" in name else 1))
    model.save_pretrained(folder)
    return model


def architecture_of(folder: Path) -> Architecture:
    return read_architecture(read_json(folder / "config.json"))


def lean_runner(folder: Path, dtype: torch.dtype = torch.float32) -> LeanRunner:
    """A runner of the model in `folder`."""
    architecture = architecture_of(folder)
    files = sorted(folder.glob("*.safetensors"))
    return LeanRunner(LeanForward(architecture, read_weights(files, architecture, dtype, CPU), dtype, CPU))


def made_runner(folder: Path, config: Any, dtype: torch.dtype = torch.float32, seed: int = 0) -> LeanRunner:
    """A runner of a random model of that config."""
    save_model(folder, config, seed)
    return lean_runner(folder, dtype)


def random_tokens(count: int, seed: int = 0) -> list[int]:
    tokens: list[int] = torch.randint(0, VOCAB, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return tokens


def alone(model: Any, tokens: Sequence[int]) -> torch.Tensor:
    """Logits (len(tokens), vocab) that transformers gives in a fresh pass without a cache, float32."""
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits[0]
    return logits.float()
