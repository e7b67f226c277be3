"""The next Jacobi iterate: what the model would say at the positions behind a wrong guess."""

from __future__ import annotations

import torch
from torch import Tensor

from lookahead_cli.decoding.select import SamplingSettings, gumbel_noise

CANDIDATES = 64
"""Tokens per row that are weighed under temperature: the rest is too unlikely to be worth sorting."""


def next_iterate(logits: Tensor, first_position: int, settings: SamplingSettings) -> list[int]:
    """Draft tokens from rows of `logits` (n, vocab) that speak of consecutive positions from `first_position` on.

    They only have to be likely, so penalties and truncation are left out and few candidates a row are weighed. But the
    noise is the one that selecting will use: without it drafts would miss under temperature.
    """
    if settings.temperature == 0.0:
        return [int(token) for token in torch.argmax(logits, dim=-1)]
    count = min(CANDIDATES, logits.shape[-1])
    scores, ids = torch.topk(logits.detach().to(device="cpu", dtype=torch.float32), count, dim=-1)
    iterate = []
    for row in range(logits.shape[0]):
        noise = gumbel_noise(settings.seed, first_position + row, vocab=logits.shape[-1])[ids[row].numpy()]
        weighed = scores[row].double() / settings.temperature + torch.from_numpy(noise)
        iterate.append(int(ids[row, int(torch.argmax(weighed))]))
    return iterate
