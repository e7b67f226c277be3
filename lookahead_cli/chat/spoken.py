"""A conversation as the very tokens it was made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spoken:
    """What the model was shown and has said, as text and as tokens.

    The text of an answer, tokenised again, often gives other tokens than those the model said (about every twelfth
    answer of SmolLM2): then the model would have to read what it has said itself, in other words. So they are kept.
    """

    text: str = ""
    ids: tuple[int, ...] = ()
    seams: tuple[tuple[int, int], ...] = ()
    """(characters, tokens) up to places where the text may be cut: the ends of prompts and of answers."""

    def with_more(self, text: str, ids: Sequence[int]) -> Spoken:
        """`text` and the tokens it consists of come behind."""
        whole, tokens = self.text + text, (*self.ids, *ids)
        return Spoken(whole, tokens, (*self.seams, (len(whole), len(tokens))))

    def up_to(self, text: str) -> Spoken:
        """As far as `text` begins with it, up to a seam."""
        kept = [seam for seam in self.seams if text.startswith(self.text[: seam[0]])]
        characters, tokens = kept[-1] if kept else (0, 0)
        return Spoken(self.text[:characters], self.ids[:tokens], tuple(kept))

    def going_on(self, text: str, encode: Callable[[str], list[int]]) -> Spoken:
        """What is spoken once the model is shown `text`: the tokens there are, and behind them those of the rest; all
        of it is tokenised anew if the rest by itself would become other tokens."""
        known = self.up_to(text)
        rest = text[len(known.text) :]
        whole, ids = encode(text), encode(rest)
        if whole[len(whole) - len(ids) :] != ids:
            return Spoken().with_more(text, whole)
        return known.with_more(rest, ids)
