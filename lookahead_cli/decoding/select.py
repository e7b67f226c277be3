"""Which token the model says next: the one place where logits become tokens.

`TokenSelector.select` is a pure function of the logits, the tokens before the position, the sampling settings, the
seed and the position. It never sees a draft. That is the whole reason why every strategy gives the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lookahead_cli.errors import ModelError


@dataclass(frozen=True)
class SamplingSettings:
    """How a token is chosen from logits. The defaults are greedy decoding."""

    temperature: float = 0.0
    top_k: int = 0
    """Keep the k likeliest tokens; 0 keeps all."""
    top_p: float = 1.0
    """Keep the smallest set of likeliest tokens whose probabilities reach this sum."""
    min_p: float = 0.0
    """Drop tokens less likely than this fraction of the likeliest one."""
    repetition_penalty: float = 1.0
    """Divide positive and multiply negative logits of tokens seen before (Keskar et al. 2019, arXiv 1909.05858)."""
    seed: int = 0


class TokenSelector:
    """Chooses tokens by argmax (temperature 0) or by the Gumbel-max trick with noise fixed per (seed, position, id)."""

    def __init__(self, settings: SamplingSettings) -> None:
        self.settings = settings

    def select(self, logits: Tensor, position: int, before: Sequence[int]) -> int:
        """The token at `position`, given `logits` (vocab,) for it and all tokens `before` it.

        An exact tie goes to the lowest id. With a temperature the result is an exact sample from the (truncated)
        distribution: argmax of log-probability + Gumbel noise (Gumbel 1954; drafter invariance: Daliri, Musco,
        Suresh 2025, arXiv 2408.07978).

        Raises:
            ModelError: the logits are not finite.
        """
        settings = self.settings
        scores = logits.detach().to(device="cpu", dtype=torch.float32)
        if settings.repetition_penalty != 1.0:
            scores = penalise_repetition(scores, before, settings.repetition_penalty)
        best = int(torch.argmax(scores))
        if not torch.isfinite(scores[best]):
            raise ModelError(
                f"the model's logits at position {position} are not finite: its weights are damaged, or float16 "
                'overflows (try dtype = "float32")'
            )
        if settings.temperature == 0.0:
            return best
        ids, scores = truncate(scores / settings.temperature, settings)
        noise = gumbel_noise(settings.seed, position, vocab=logits.shape[-1])[ids.numpy()]
        return int(ids[int(np.argmax(scores.double().numpy() + noise))])


def gumbel_noise(seed: int, position: int, vocab: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Gumbel noise for every token id at one position, float64 (vocab,); the same on every machine.

    Philox is a counter-based generator (Salmon et al. 2011), so the noise is a function of (seed, position, id) alone;
    its raw output, unlike numpy's derived distributions, is promised never to change.
    """
    raw = np.random.Philox(key=np.array([seed, position], dtype=np.uint64)).random_raw(vocab)
    # 52 bits and a half: exact in float64, and neither 0 nor 1, whose noise would be infinite.
    uniform = ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    noise: np.ndarray[tuple[int], np.dtype[np.float64]] = -np.log(-np.log(uniform))
    return noise


def penalise_repetition(scores: Tensor, before: Sequence[int], penalty: float) -> Tensor:
    """Scores (vocab,) with every token of `before` made less likely (`penalty` > 1) or likelier (< 1)."""
    seen = torch.tensor(sorted(set(before)), dtype=torch.long)
    penalised = scores.clone()
    values = scores[seen]
    penalised[seen] = torch.where(values < 0, values * penalty, values / penalty)
    return penalised


def truncate(scores: Tensor, settings: SamplingSettings) -> tuple[Tensor, Tensor]:
    """Ids (n,) in ascending order that survive top-k, then top-p, then min-p, and their scores (n,).

    Each rule sees the distribution that the one before it left, renormalised: the order and the ties of transformers.
    `scores` (vocab,) float32 are logits after temperature.
    """
    ids = torch.arange(scores.shape[-1])
    if 0 < settings.top_k < scores.shape[-1]:
        threshold = torch.topk(scores, settings.top_k).values[-1]
        keep = scores >= threshold
        ids, scores = ids[keep], scores[keep]
    if settings.top_p < 1.0:
        keep = nucleus(scores, settings.top_p)
        ids, scores = ids[keep], scores[keep]
    if settings.min_p > 0.0:
        probabilities = torch.softmax(scores, dim=-1)
        keep = probabilities >= settings.min_p * probabilities.max()
        ids, scores = ids[keep], scores[keep]
    return ids, scores


def nucleus(scores: Tensor, top_p: float) -> Tensor:
    """Mask (n,) of the smallest set of likeliest tokens whose probabilities sum to at least `top_p`.

    Holtzman et al. 2020, arXiv 1904.09751. The least likely tokens go as long as their sum stays within 1 - top_p; at
    least one token stays.
    """
    sorted_scores, order = torch.sort(scores, descending=False)
    cumulative = torch.softmax(sorted_scores, dim=-1).cumsum(dim=-1)
    drop_sorted = cumulative <= 1.0 - top_p
    drop_sorted[-1] = False
    keep = torch.empty_like(drop_sorted)
    keep[order] = ~drop_sorted
    return keep
