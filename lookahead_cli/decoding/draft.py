"""Guessed tokens, and how many of them the model agrees with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from lookahead_cli.decoding.select import TokenSelector


@dataclass(frozen=True)
class Draft:
    """A chain of guesses after the pending token, each with the name of the drafter it came from."""

    tokens: tuple[int, ...] = ()
    provenance: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class VerifiedStep:
    """What one forward pass said about a draft: the material drafters learn from."""

    position: int
    """Position of the first emitted token: the one row 0 of the logits speaks of."""
    draft: Draft
    logits: Tensor
    """(1 + len(draft), vocab): row 0 follows the pending token, row i follows draft token i."""
    accepted: int

    @property
    def next_position(self) -> int:
        """Position of the first token that is still to come."""
        return self.position + self.accepted + 1


def accept(draft: Draft, logits: Tensor, selector: TokenSelector, committed: list[int]) -> int:
    """Extend `committed` by every guess the model agrees with and one token more; return how many guesses that were.

    `logits` (1 + len(draft), vocab). Row i speaks of the position *after* draft token i (row 0: after the pending
    token), so guess i is compared with what is selected from row i - 1.
    """
    for row, guess in enumerate(draft.tokens):
        token = selector.select(logits[row], len(committed), committed)
        committed.append(token)
        if token != guess:
            return row
    committed.append(selector.select(logits[len(draft)], len(committed), committed))
    return len(draft)
