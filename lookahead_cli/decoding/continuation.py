"""A text being written: what has been said, and what decides how it goes on. Where its logits come from is not for it
to know: a runner of its own (`loop.py`), or a pass that many texts share (`together.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from lookahead_cli.decoding.draft import Draft, accept
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import MODEL, FinishReason, StepEvent
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.strategy import Room, Strategy
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.models.seats import Seats


@dataclass(frozen=True)
class StepSeconds:
    """Where the time of a step went; see `StepEvent`."""

    drafting: float
    forward: float
    selecting: float
    total: float
    """All of it up to when the tokens were known."""


class Continuation:
    """One text, continued step by step."""

    def __init__(self, prompt: Sequence[int], strategy: Strategy, selector: TokenSelector, ending: Ending) -> None:
        """`prompt` holds at least one token and leaves room for one more in the context. Its last token is the first
        pending one: prefill runs all before it, so that a step is the same thing from the first to the last."""
        self.committed = list(prompt)
        self.strategy = strategy
        self.selector = selector
        self.ending = ending

    @property
    def to_read(self) -> list[int]:
        """What the model has to read before the first step."""
        return self.committed[:-1]

    @property
    def pending(self) -> int:
        return self.committed[-1]

    def room(self, branching: Callable[[int], bool], seats: Callable[[], Seats]) -> Room:
        """How large the next draft may be, given what the runner says."""
        return Room(self.ending.remaining - 1, branching, seats)

    def accept(self, draft: Draft, logits: Tensor) -> tuple[int, ...]:
        """Say every guess the model agrees with and one token more; returns the nodes of those guesses.

        `logits` (1 + len(draft), vocab) of the pending token and the nodes. If it fails, nothing has been said.
        """
        said = len(self.committed)
        try:
            return accept(draft, logits, self.selector, self.committed)
        except BaseException:
            del self.committed[said:]
            raise

    def conclude(
        self,
        draft: Draft,
        logits: Tensor,
        path: tuple[int, ...],
        seconds: StepSeconds,
        *,
        likely: LikelyTokens | None = None,
        learns: bool = True,
    ) -> StepEvent:
        """After `accept`: turn the tokens into text, up to the last one that counts, and have the strategy learn.

        `likely` is what `likely_tokens` says about the logits, if somebody has worked that out already. The event has
        the time up to when the tokens were known.
        """
        position = len(self.committed) - len(path) - 1
        texts, finish_reason = take_until_end(self.committed[position:], self.ending)
        if finish_reason is None and learns:
            self.strategy.observe(VerifiedStep(position, draft, logits, path, self.committed, seconds.total, likely))
        emitted = len(texts)
        return StepEvent(
            token_ids=tuple(self.committed[position : position + emitted]),
            provenance=(*(draft.provenance[node] for node in path), MODEL)[:emitted],
            texts=texts,
            drafted_by=draft.count_by_drafter,
            seconds=seconds.total,
            forward_seconds=seconds.forward,
            draft_seconds=seconds.drafting,
            select_seconds=seconds.selecting,
            tested_depth=min(draft.tested_depth(path), emitted),
            finish_reason=finish_reason,
            draft=draft,
            path=path[:emitted],
        )


def take_until_end(tokens: Sequence[int], ending: Ending) -> tuple[tuple[str, ...], FinishReason | None]:
    """The text of each token up to the one that ends the generation; those after it were never said."""
    texts = []
    for token in tokens:
        text, finish_reason = ending.take(token)
        texts.append(text)
        if finish_reason is not None:
            return tuple(texts), finish_reason
    return tuple(texts), None


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
