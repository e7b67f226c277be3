"""How fresh slots of a Jacobi window are filled, before any forward pass has refined them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FreshSlots:
    """What is known where fresh guesses are needed."""

    before: Sequence[int]
    """Tokens in front of the fresh slots: committed ones, then guesses that are kept. Never empty."""
    logits: Tensor | None
    """(vocab,) the latest next-token logits, or None before the first forward pass."""
    vocab: int
    temperature: float
    generator: torch.Generator
    """CPU generator, seeded once per generation."""


WindowInit = Callable[[FreshSlots, int], list[int]]


def random_tokens(slots: FreshSlots, count: int) -> list[int]:
    """Uniform over the vocabulary: the textbook start, and a lower bound for what a guess is worth."""
    return torch.randint(slots.vocab, (count,), generator=slots.generator).tolist()


def copy_last(slots: FreshSlots, count: int) -> list[int]:
    """The token in front, repeated."""
    return [slots.before[-1]] * count


def model_samples(slots: FreshSlots, count: int) -> list[int]:
    """Independent samples from the model's latest next-token distribution.

    Drawn at the sampling temperature, or at 1 in greedy decoding (a distribution at temperature 0 would be the same
    token each time). Before the first forward pass there is no distribution: copies the last token.
    """
    if slots.logits is None or count < 1:
        return copy_last(slots, count)
    if not torch.isfinite(slots.logits.max()):
        return copy_last(slots, count)  # selecting will say what is wrong
    probabilities = torch.softmax(slots.logits.float() / (slots.temperature or 1.0), dim=-1).cpu()
    samples: list[int] = torch.multinomial(probabilities, count, replacement=True, generator=slots.generator).tolist()
    return samples


WINDOW_INITS: dict[str, WindowInit] = {"random": random_tokens, "copy-last": copy_last, "model": model_samples}
