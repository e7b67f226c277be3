"""A drafter that knows what comes: it makes long accepted runs, with a wrong guess wherever one is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep


class KnownFutureDrafter:
    """Guesses `k` tokens of the text it was given; guesses at the positions in `wrong` are off by one id."""

    wants_prompt_rows = False

    def __init__(self, text: Sequence[int], k: int, wrong: frozenset[int] = frozenset()) -> None:
        self.text = text
        self.k = k
        self.wrong = wrong
        self.observed: list[VerifiedStep] = []

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.prompt_length = len(prompt)

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        start = len(committed) - self.prompt_length
        tokens = [
            (token - 1 if token else 1) if index in self.wrong else token
            for index, token in enumerate(self.text)
            if start <= index < start + min(self.k, room.depth)
        ]
        return Draft.chain(tokens, "known")

    def observe(self, step: VerifiedStep) -> None:
        self.observed.append(step)

    def beside(self, sampling: SamplingSettings) -> KnownFutureDrafter:
        return KnownFutureDrafter(self.text, self.k, self.wrong)

    def end(self) -> None:
        pass
