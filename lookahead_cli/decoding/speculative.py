"""Speculative decoding: a smaller model with the same tokens says what it would say, the model checks it in one pass.

Leviathan, Kalman, Matias 2023 (arXiv 2211.17192) and Chen et al. 2023 (arXiv 2302.01318). They accept a guess at
random, so that the distribution is kept; here it is accepted if it is what the model selects. Under temperature both
models select with the same noise, so that nearly as many are accepted, and the tokens are those of plain decoding
(Daliri, Musco, Suresh 2025, arXiv 2408.07978).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from torch import Tensor

from lookahead_cli.decoding.continuation import common_length
from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.draft_length import DraftLength
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.decoding.wanted import DraftModel
from lookahead_cli.errors import ModelError
from lookahead_cli.models.runner import MOST_FORGOTTEN

NAME = "draft-model"
READ_AT_ONCE = 64
"""Tokens per pass in which the draft model catches up: the logits of all of them are in memory."""
USUALLY_UNREAD = 2
"""All that the draft model lacks in steady work: the last guess, not read when it was made, and the bonus token."""


class Speculative:
    """Has the draft model read along, and asks it for a chain of guesses."""

    wants_prompt_rows = False

    def __init__(self, model: DraftModel, length: DraftLength, selector: TokenSelector, vocab: int) -> None:
        """`vocab` is the number of token ids of the model that is drafted for: embeddings are padded differently."""
        self.runner = model.runner
        self.context_length = model.context_length
        self.length = length
        self.selector = selector
        self.vocab = vocab
        self.common_vocab = min(vocab, model.runner.vocab)
        self.read = 0
        """Committed tokens in the draft model's cache."""
        self.read_ahead: list[int] = []
        """Guesses behind them in its cache."""
        self.in_cache: list[int] = []
        """All tokens in its cache; none while it is at work, since it may be stopped in the middle."""
        self.can_read = True
        """Whether it knows all tokens so far and has room for them."""
        self.seconds = 0.0
        """What the latest draft took."""

    def beside(self, sampling: SamplingSettings) -> Speculative:
        model = DraftModel(self.runner.twin(), self.context_length)
        return Speculative(model, DraftLength(self.length.fixed), TokenSelector(sampling), self.vocab)

    def end(self) -> None:
        pass

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        known, self.in_cache = self.in_cache, []
        self.read, self.read_ahead = 0, []
        self.can_read = len(prompt) < self.context_length and self._knows(prompt)
        if self.can_read:
            same = common_length(known, prompt[:-1])
            self.runner.prefill(prompt[:-1], kept=same if self.runner.keeps(same) else 0)
            self.read = len(prompt) - 1
            self.in_cache = list(prompt[:-1])

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        started = perf_counter()
        most = min(room.depth, self.context_length - len(committed), MOST_FORGOTTEN)
        count = self.length.choose(most) if self.can_read and most > 0 else 0
        draft = Draft.chain(self._guess(committed, count), NAME) if count else Draft()
        self.seconds = perf_counter() - started
        return draft

    def observe(self, step: VerifiedStep) -> None:
        self.length.verified(len(step.draft), len(step.path), step.seconds - self.seconds)

    def _guess(self, committed: Sequence[int], count: int) -> list[int]:
        """What the draft model says after `committed`, `count` tokens; none if there is a token it does not know."""
        self.in_cache = []
        self._forget_rejected(committed)
        unread = committed[self.read :]
        self.can_read = self._knows(unread)
        if not self.can_read:
            return []
        text = list(committed)
        while len(text) < len(committed) + count:
            started = perf_counter()
            text.append(self._select(self._read(unread), text))
            if len(unread) <= USUALLY_UNREAD:
                self.length.guessed(perf_counter() - started)
            unread = text[-1:]
        guesses = text[len(committed) :]
        self.read, self.read_ahead = len(committed), guesses[:-1]
        self.in_cache = text[:-1]
        return guesses

    def _forget_rejected(self, committed: Sequence[int]) -> None:
        """Have the cache hold committed tokens only, and not the pending one, whose logits are needed."""
        accepted = 0
        for guess, token in zip(self.read_ahead, committed[self.read : -1], strict=False):
            if guess != token:
                break
            accepted += 1
        self.runner.forget(len(self.read_ahead) - accepted)
        self.read, self.read_ahead = self.read + accepted, []

    def _read(self, tokens: Sequence[int]) -> Tensor:
        """Logits (vocab,) after the last of `tokens`, all of which are in the cache afterwards."""
        for start in range(0, len(tokens), READ_AT_ONCE):
            first, *others = tokens[start : start + READ_AT_ONCE]
            logits = self.runner.step(first, others, range(-1, len(others) - 1))
            self.runner.commit(range(len(others)))
        return logits[-1]

    def _select(self, logits: Tensor, before: Sequence[int]) -> int:
        try:
            return self.selector.select(logits[: self.common_vocab], len(before), before)
        except ModelError as error:
            raise ModelError(f"draft model: {error}") from None

    def _knows(self, tokens: Sequence[int]) -> bool:
        return max(tokens) < self.runner.vocab
