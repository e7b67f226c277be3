"""Jacobi decoding: a window of guesses, all of them refined by every forward pass.

Song, Meng, Liao, Ermon 2021 (arXiv 2002.03629, section 4) and Santilli et al. 2023 (arXiv 2305.10427, algorithm 1):
autoregressive decoding is a triangular system of equations, solved by fixed-point iteration over all positions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.iterate import next_iterate
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.decoding.window_init import FreshSlots, WindowInit
from lookahead_cli.decoding.window_size import FIRST_AUTO_K, WindowSize

NAME = "jacobi"


class JacobiWindow:
    """Keeps the window: the guesses for the positions right after the pending token, in order."""

    wants_prompt_rows = False

    def __init__(
        self,
        size: WindowSize,
        init: WindowInit,
        refill: Literal["carry", "reinit"],
        sampling: SamplingSettings,
        vocab: int,
    ) -> None:
        self.size = size
        self.init = init
        self.refill = refill
        self.sampling = sampling
        self.vocab = vocab
        self.window: list[int] = []
        self.logits: Tensor | None = None
        self.generator = torch.Generator()

    def beside(self, sampling: SamplingSettings) -> JacobiWindow:
        size = WindowSize(FIRST_AUTO_K, adaptive=True) if self.size.adaptive else self.size
        return JacobiWindow(size, self.init, self.refill, sampling, self.vocab)

    def end(self) -> None:
        pass

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.window = []
        self.logits = None
        self.generator.manual_seed(self.sampling.seed)

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        count = min(self.size.k, room.depth)
        missing = count - len(self.window)
        if missing > 0:
            before = self.window or committed
            slots = FreshSlots(before, self.logits, self.vocab, self.sampling.temperature, self.generator)
            self.window += self.init(slots, missing)
        return Draft.chain(self.window[:count], NAME)

    def observe(self, step: VerifiedStep) -> None:
        """The outputs at the rejected positions are the next iterate, one place further on than their inputs."""
        accepted = len(step.path)
        self.size.update(drafted=len(step.draft), accepted=accepted)
        rejected = step.logits[accepted + 1 :]
        if self.refill == "carry" and len(rejected) > 0:
            self.window = next_iterate(rejected, step.next_position, self.sampling)
            self.logits = step.logits[-1].clone()  # a view would keep the whole pass in memory
        else:
            self.window = []
            self.logits = step.logits[accepted].clone()
