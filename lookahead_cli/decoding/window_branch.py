"""The window branch of lookahead decoding: nodes spent only on producing n-grams (Fu et al. 2024, arXiv 2402.02057,
section 3.1 and figure 2).

A window of W positions is kept over the last N - 1 Jacobi iterations. In the paper's attention mask a token of
iteration l at column i sees the first iteration up to column i and the iterations in between at its own column. As a
tree that is a chain of W nodes, each with a branch of N - 2: this file adds it to the draft like any other guesses.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lookahead_cli.decoding.draft import ROOT
from lookahead_cli.decoding.drafters import Outcome
from lookahead_cli.decoding.drafters.ngram_pool import NgramPool
from lookahead_cli.decoding.growth import Tree
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.window_init import FreshSlots, WindowInit

NAME = "window"


class WindowBranch:
    """The two-dimensional window: `levels[l][i]` is the guess of iteration l at column i."""

    def __init__(
        self,
        width: int,
        ngram_length: int,
        pool: NgramPool,
        init: WindowInit,
        sampling: SamplingSettings,
        vocab: int,
    ) -> None:
        self.width = width
        self.most_levels = ngram_length - 1
        self.pool = pool
        self.init = init
        self.sampling = sampling
        self.vocab = vocab
        self.generator = torch.Generator()
        self.levels: list[list[int]] = []
        self.ends: list[int] = []
        """For each column the node of its latest iteration, in the draft now being verified."""

    @property
    def nodes(self) -> int:
        """Most nodes it adds to a draft."""
        return self.width * self.most_levels

    def beside(self, sampling: SamplingSettings) -> WindowBranch:
        """A window for another text that is decoded at the same time; both fill the same pool."""
        return WindowBranch(self.width, self.most_levels + 1, self.pool, self.init, sampling, self.vocab)

    def begin(self, prompt: Sequence[int]) -> None:
        self.generator.manual_seed(self.sampling.seed)
        self.ends = []
        slots = FreshSlots(prompt, None, self.vocab, self.sampling.temperature, self.generator)
        self.levels = [self.init(slots, self.width)]

    def add_to(self, tree: Tree, most_depth: int) -> None:
        """Add the window to a draft, as far as it is no deeper than `most_depth` and there is room for it."""
        self.ends = []
        stem = ROOT
        for column in range(min(self.width, most_depth - len(self.levels) + 1)):
            run = [level[column] for level in self.levels]
            node = stem
            for place, token in enumerate(run):
                if not tree.has_room(node, token):
                    return
                node = tree.add(node, token, NAME)
                stem = node if place == 0 else stem
            self.ends.append(node)

    def learn(self, outcome: Outcome) -> None:
        """New n-grams go to the pool; the window moves on by one iteration and by what was emitted."""
        if not self.ends:
            return
        newest = [outcome.likely.ids[1 + node][0] for node in self.ends]
        for column, output in enumerate(newest):
            run = [*(level[column] for level in self.levels), output]
            for end in range(2, len(run) + 1):
                self.pool.add(run[max(0, end - 3) : end])
        levels = [*(level[: len(newest)] for level in self.levels), newest]
        if len(levels) > self.most_levels:
            levels = levels[1:]  # one iteration on is one position on
            moved = len(outcome.path)
        else:
            moved = len(outcome.path) + 1
        before = outcome.committed
        row = outcome.logits[outcome.selected_rows[-1]]
        slots = FreshSlots(before, row, self.vocab, self.sampling.temperature, self.generator)
        self.levels = []
        for level in levels:
            kept = level[moved : moved + self.width]
            self.levels.append(kept + self.init(slots, self.width - len(kept)))
