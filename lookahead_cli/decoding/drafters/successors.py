"""Recycled successors: what the model found likely after the same last tokens before, in whatever row of logits.

After Luo et al. 2024 (arXiv 2408.08696, token recycling), which keeps the likely successors of single tokens. Here the
contexts are one, two and three tokens long, each length a drafter of its own, and rows of rejected guesses count as
much as others: the guess may be right the next time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from lookahead_cli.decoding.drafters import NOTHING, ByContext, Outcome, SharedByTexts
from lookahead_cli.decoding.likely import CERTAINTIES, LIKELY, LikelyTokens, certainty, expected_of
from lookahead_cli.decoding.prior_knowledge import RehearsedContexts

NAME = "successors"
NEWS = 0.5
"""Weight of a new row after a single token, whose successors vary: the old rows keep the rest. Longer contexts say
nearly the same each time, there the latest row is the best."""


class Successors(ByContext, SharedByTexts):
    """Likely tokens by the last `order` tokens; the context least recently asked for goes first."""

    name = NAME

    def __init__(self, order: int, most_entries: int, rehearsed: RehearsedContexts | None = None) -> None:
        self.order = order
        self.key = f"{NAME}/{order}"
        self.most_entries = most_entries
        self.rehearsed = rehearsed
        self.kinds: OrderedDict[tuple[int, ...], Mapping[int, int]] = OrderedDict()
        self.mixed: dict[int, dict[int, float]] = {}
        """Order 1 only: probabilities behind `kinds`."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        if likely is None:
            return
        for row in range(len(likely)):
            end = likely.first + row + 1
            if end >= self.order:
                self._store(tuple(prompt[end - self.order : end]), likely, row)

    def guesses(self, state: tuple[int, ...]) -> Mapping[int, int]:
        context = state[-self.order :]
        seen = self.kinds.get(context)
        if seen is not None:
            self.kinds.move_to_end(context)
            return seen
        if self.rehearsed is None or len(context) < self.order:
            return NOTHING
        # Rehearsed rows are a little less telling than rows of this very text: kinds of their own.
        return {token: CERTAINTIES + kind for token, kind in self.rehearsed.look_up(context).items()}

    def expected(self, kind: int) -> float:
        return expected_of(kind % CERTAINTIES)

    def learn(self, outcome: Outcome) -> None:
        for row, context in enumerate(outcome.contexts):
            if len(context) >= self.order:
                self._store(context[-self.order :], outcome.likely, row)

    def _store(self, context: tuple[int, ...], likely: LikelyTokens, row: int) -> None:
        if self.order == 1:
            self.kinds[context] = self._mix(context[0], likely.ids[row], likely.probabilities[row])
        else:
            self.kinds[context] = likely.kinds[row]
        self.kinds.move_to_end(context)
        if len(self.kinds) > self.most_entries:
            dropped, _ = self.kinds.popitem(last=False)
            self.mixed.pop(dropped[0], None)

    def _mix(self, token: int, ids: list[int], probabilities: list[float]) -> Mapping[int, int]:
        old = self.mixed.get(token)
        if old is None:
            mixed = dict(zip(ids, probabilities, strict=True))
        else:
            mixed = {follower: (1 - NEWS) * share for follower, share in old.items()}
            for follower, probability in zip(ids, probabilities, strict=True):
                mixed[follower] = mixed.get(follower, 0.0) + NEWS * probability
            if len(mixed) > LIKELY:
                mixed = dict(sorted(mixed.items(), key=lambda item: -item[1])[:LIKELY])
        self.mixed[token] = mixed
        return {follower: certainty(share) for follower, share in mixed.items()}


class ModelSuccessors(SharedByTexts):
    """What the model finds likely after a single token with nothing before it: known for every token beforehand."""

    name = NAME
    key = f"{NAME}/model"

    def __init__(self, rehearsed: RehearsedContexts) -> None:
        self.rehearsed = rehearsed

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        pass

    def root(self, committed: Sequence[int]) -> int:
        return committed[-1]

    def follow(self, state: int, token: int) -> int:
        return token

    def guesses(self, state: int) -> Mapping[int, int]:
        return self.rehearsed.after_single(state)

    def expected(self, kind: int) -> float:
        return expected_of(kind)

    def learn(self, outcome: Outcome) -> None:
        pass
