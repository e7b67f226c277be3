"""Under temperature the noise that will choose the next tokens is known beforehand; only the logits are not.

A token is chosen if its log-probability plus Gumbel noise is the largest (see `select.py`), and the noise is a
function of seed, position and token. Guesses with good noise are therefore more likely than their probability says.
"""

from __future__ import annotations

import math
from functools import lru_cache

from lookahead_cli.decoding.budget import MOST_NODES
from lookahead_cli.decoding.select import SamplingSettings, gumbel_noise

SHARPNESS = 2.0
"""How far the estimated probabilities are trusted: infinity would mean that they are exactly the model's."""
POSITIONS_KEPT = MOST_NODES
"""Positions whose noise is kept: as deep as a tree that is grown by its worth can be."""


class NoiseForesight:
    """Probabilities of guesses, given the noise at their position."""

    def __init__(self, sampling: SamplingSettings, vocab: int) -> None:
        self.position = 0
        """Of the token after the pending one."""
        self.noise = lru_cache(POSITIONS_KEPT)(lambda position: gumbel_noise(sampling.seed, position, vocab))

    def __call__(self, probabilities: dict[int, float], depth: int) -> dict[int, float]:
        """What the probabilities of tokens at `depth` (1: next) become once their noise is known.

        A token whose score s = log p + noise is the largest among the guesses is chosen if no other token of the
        vocabulary, which together have probability r, comes out above it: with probability exp(-r exp(-s)). As the
        estimates are not exact, that is shared with guesses whose scores come near.
        """
        noise = self.noise(self.position + depth - 1)
        scores = {token: math.log(probability) + noise[token] for token, probability in probabilities.items()}
        top = max(scores.values())
        rest = max(1.0 - sum(probabilities.values()), 0.01)
        chosen = math.exp(-rest * math.exp(-top))
        shares = {token: math.exp(SHARPNESS * (score - top)) for token, score in scores.items()}
        total = sum(shares.values())
        return {token: chosen * share / total for token, share in shares.items()}
