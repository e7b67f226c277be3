"""A drafter that knows what comes: it makes long accepted runs, with a wrong guess wherever one is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lookahead_cli.decoding.draft import Draft, VerifiedStep


class KnownFutureDrafter:
    """Guesses `k` tokens of the text it was given; guesses at the positions in `wrong` are off by one id."""

    def __init__(self, text: Sequence[int], k: int, wrong: frozenset[int] = frozenset()) -> None:
        self.text = text
        self.k = k
        self.wrong = wrong
        self.observed: list[VerifiedStep] = []

    def begin(self, prompt: Sequence[int], logits: Tensor | None) -> None:
        self.prompt_length = len(prompt)

    def draft(self, committed: Sequence[int], limit: int) -> Draft:
        start = len(committed) - self.prompt_length
        tokens = [
            (token - 1 if token else 1) if index in self.wrong else token
            for index, token in enumerate(self.text)
            if start <= index < start + min(self.k, limit)
        ]
        return Draft.chain(tokens, "known")

    def observe(self, step: VerifiedStep) -> None:
        self.observed.append(step)
