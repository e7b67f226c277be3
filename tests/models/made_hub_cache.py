"""A cache of the hub, made on disk as the hub library makes it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8, "intermediate_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 10,
    "max_position_embeddings": 64, "eos_token_id": 3,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2,
    "vocab_size": 10, "n_positions": 32,
}  # fmt: skip
MAMBA: dict[str, Any] = {"architectures": ["MambaForCausalLM"], "model_type": "mamba", "vocab_size": 10}
BERT: dict[str, Any] = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": 10}
TOKENIZER = {"added_tokens": [{"id": 3, "content": "<end>"}]}
WEIGHTS = save({"a": np.zeros((10, 8), np.float16), "b": np.zeros(4, np.float32)})
"""84 numbers, most of them float16."""


def whole_model(config: dict[str, Any], **more: bytes) -> dict[str, bytes]:
    """The files of a model, as far as nobody looks into the weights."""
    files = {"config.json": json.dumps(config).encode(), "tokenizer.json": json.dumps(TOKENIZER).encode()}
    return {**files, "model.safetensors": WEIGHTS, **more}


def put(cache: Path, repo: str, files: dict[str, bytes], ref: str = "main", commit: str = COMMIT) -> Path:
    """Add a revision of `repo` to the cache; its snapshot folder."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    for part in (snapshot, folder / "blobs", folder / "refs"):
        part.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        blob = folder / "blobs" / sha256(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / name).symlink_to(blob)
    if ref:
        (folder / "refs" / ref).write_text(commit)
    return snapshot


def use_cache(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Let the hub library take `folder` for its cache, and ask nobody. It reads its variables once, at import."""
    from huggingface_hub import constants

    patch.setattr(constants, "HF_HUB_CACHE", str(folder))
    patch.setattr(constants, "HF_HUB_OFFLINE", True)
    return folder
