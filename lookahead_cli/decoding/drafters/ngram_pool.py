"""The n-gram pool: n-grams of Jacobi trajectories, looked up by the last tokens (Fu et al. 2024, arXiv 2402.02057).

A trajectory is what the model finds likeliest along a branch: the output of each row after the output of the row
before it. On a rejected branch that is a run of tokens that has not been said, and may be said next. In
`successors.py` the guess is the context and the output follows it; here outputs follow each other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from lookahead_cli.decoding.drafters import NOTHING, ByContext, Outcome, SharedByTexts
from lookahead_cli.decoding.likely import LikelyTokens

NAME = "n-grams"
ORDERS = (2, 1)
"""Tokens an n-gram is looked up by, most telling first. Longer ones are followed token by token."""
FOLLOWERS = 4
"""Latest continuations kept for each start of an n-gram."""


class NgramPool(ByContext, SharedByTexts):
    """Starts of n-grams with their latest continuations; the one least recently useful goes first."""

    name = key = NAME

    def __init__(self, most_entries: int) -> None:
        self.most_entries = most_entries
        self.followers: OrderedDict[tuple[int, ...], list[int]] = OrderedDict()
        """Latest first."""

    def add(self, tokens: Sequence[int]) -> None:
        """Take in a run of tokens: every n-gram that ends with its last one."""
        for order in ORDERS:
            if len(tokens) <= order:
                continue
            start = tuple(tokens[-1 - order : -1])
            old = self.followers.pop(start, ())
            self.followers[start] = [tokens[-1], *(token for token in old if token != tokens[-1])][:FOLLOWERS]
            if len(self.followers) > self.most_entries:
                self.followers.popitem(last=False)

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        pass

    def guesses(self, state: tuple[int, ...]) -> Mapping[int, int]:
        for place, order in enumerate(ORDERS):
            followers = self.followers.get(state[-order:]) if len(state) >= order else None
            if followers:
                self.followers.move_to_end(state[-order:])
                return {token: place * FOLLOWERS + rank for rank, token in enumerate(followers)}
        return NOTHING

    def expected(self, kind: int) -> float:
        place, rank = divmod(kind, FOLLOWERS)
        return (0.3, 0.15)[place] / (1 + rank)

    def learn(self, outcome: Outcome) -> None:
        outputs = [ids[0] for ids in outcome.likely.ids]
        before = tuple(outcome.committed[max(0, outcome.position - max(ORDERS)) : outcome.position])
        runs = [(*before, outputs[0])]
        self.add(runs[0])
        for output, parent in zip(outputs[1:], outcome.draft.parents, strict=True):
            runs.append((*runs[parent + 1], output)[-1 - max(ORDERS) :])
            self.add(runs[-1])
