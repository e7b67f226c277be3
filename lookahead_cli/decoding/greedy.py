"""The empty draft: one token per step, plain decoding."""

from __future__ import annotations

from collections.abc import Sequence

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep


class Greedy:
    """Guesses nothing."""

    wants_prompt_rows = False

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        pass

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        return Draft()

    def observe(self, step: VerifiedStep) -> None:
        pass

    def beside(self, sampling: SamplingSettings) -> Greedy:
        return self

    def end(self) -> None:
        pass
