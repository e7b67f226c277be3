"""What this project did not write and is measured against: transformers' own generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def greedy_tokens(model: Any, prompt: Sequence[int], count: int) -> list[int]:
    """Tokens that `generate(do_sample=False)` gives after `prompt`, at most `count`."""
    ids = torch.tensor([list(prompt)], device=model.device)
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        output = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=count, pad_token_id=0)
    tokens: list[int] = output[0, len(prompt) :].tolist()
    return tokens
