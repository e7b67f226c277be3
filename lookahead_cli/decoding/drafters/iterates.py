"""Jacobi iterates in a tree: the outputs at rejected guesses, moved to the positions they speak of.

A rejected guess has been through the model all the same, and what came out speaks of the position after it. If only
its own token was wrong, and not what it led to, that output is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import torch
from torch import Tensor

from lookahead_cli.decoding.draft import ROOT
from lookahead_cli.decoding.drafters import Outcome
from lookahead_cli.decoding.likely import CERTAINTIES, LikelyTokens, expected_of
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.window_init import FreshSlots, WindowInit

NAME = "jacobi"
WINDOW = 8
"""Positions the iterate reaches ahead."""
OUTPUTS = 2
"""Likeliest tokens of a row that are taken over."""
MOST_WRONG = 3
"""Wrong tokens before an output that are told apart: 1, 2, 3 or more."""
FRESH = MOST_WRONG * CERTAINTIES
"""The kind of a guess that no forward pass has refined."""
EXPECTED_FRESH = 0.02


class Iterates:
    """The window, by depth: index 0 holds guesses for the token after the pending one."""

    name = key = NAME

    def __init__(self, init: WindowInit, sampling: SamplingSettings, vocab: int) -> None:
        self.init = init
        self.sampling = sampling
        self.vocab = vocab
        self.window: list[Mapping[int, int]] = []
        self.generator = torch.Generator()

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.generator.manual_seed(self.sampling.seed)
        self._fill([{} for _ in range(WINDOW)], prompt, None)

    def root(self, committed: Sequence[int]) -> int:
        return 0

    def follow(self, state: int, token: int) -> int:
        return state + 1

    def guesses(self, state: int) -> Mapping[int, int]:
        return self.window[state] if state < WINDOW else {}

    def expected(self, kind: int) -> float:
        return EXPECTED_FRESH if kind == FRESH else 0.4 * expected_of(kind % CERTAINTIES)

    def learn(self, outcome: Outcome) -> None:
        window: list[dict[int, int]] = [{} for _ in range(WINDOW)]
        wrong = {ROOT: 0, **dict.fromkeys(outcome.path, 0)}
        for node in outcome.rejected:
            wrong[node] = wrong[outcome.draft.parents[node]] + 1
            ahead = outcome.depths[1 + node] - len(outcome.path) - 1
            if 0 <= ahead < WINDOW:
                group = min(wrong[node], MOST_WRONG) - 1
                for token, kind in islice(outcome.likely.kinds[1 + node].items(), OUTPUTS):
                    # Nodes come best first: the first word on a token is the most telling.
                    window[ahead].setdefault(token, group * CERTAINTIES + kind)
        self._fill(window, outcome.committed, outcome.logits[outcome.selected_rows[-1]])

    def beside(self, sampling: SamplingSettings) -> Iterates:
        return Iterates(self.init, sampling, self.vocab)

    def end(self) -> None:
        pass

    def _fill(self, window: Sequence[Mapping[int, int]], committed: Sequence[int], logits: Tensor | None) -> None:
        """Fresh guesses where there is no iterate, as in the textbook algorithm."""
        slots = FreshSlots(committed, logits, self.vocab, self.sampling.temperature, self.generator)
        fresh = self.init(slots, WINDOW)
        self.window = [found or {token: FRESH} for found, token in zip(window, fresh, strict=True)]
