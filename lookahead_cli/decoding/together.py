"""The loop for many texts: all of them draft, one forward pass, each accepts, all commit.

Texts enter and leave whenever they like (continuous batching: Yu et al. 2022, "Orca", OSDI): a pass goes on with every
text that is being written, and reads a part of the prompts of those that have just entered.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import torch
from torch import Tensor

from lookahead_cli.decoding.continuation import Continuation, StepSeconds, common_length
from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.decoding.growth import Grower
from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.decoding.shared_budget import PassRecord, SharedBudget
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.errors import LookaheadError
from lookahead_cli.models.batch_runner import BatchRunner, BatchStep, Chunk

LEAST_SHARED = 16
"""Tokens that another text must begin with too for them to be taken over from it rather than read again."""
READ_AT_ONCE = 256
"""Tokens of prompts that a pass reads: between passes that are cheap per token and writing that does not wait."""


@dataclass(eq=False)
class Member:
    """A text that takes part."""

    number: int
    text: Continuation
    unread: list[int]
    """Tokens of the prompt that the model has yet to read."""

    @property
    def read(self) -> int:
        """Tokens that are in the cache."""
        return len(self.text.committed) - 1 - len(self.unread)

    @property
    def shares(self) -> Lookahead | None:
        """Its strategy, if that makes as many guesses as pay: then all texts share one budget."""
        strategy = self.text.strategy
        return strategy if isinstance(strategy, Lookahead) and strategy.nodes is None else None


@dataclass(eq=False)
class Turn:
    """What a text does in one pass."""

    member: Member
    room: Room
    draft: Draft = field(default_factory=Draft)
    guesses: bool = True
    """Whether its strategy drafts in this pass and learns from it."""
    logits: Tensor | None = None
    """(1 + len(draft), vocab)"""
    path: tuple[int, ...] = ()
    failure: LookaheadError | None = None

    def accept(self, logits: Tensor) -> None:
        self.logits = logits
        try:
            self.path = self.member.text.accept(self.draft, logits)
        except LookaheadError as error:  # not a reason for the others to fail
            self.failure = error


class Together:
    """Texts that go on together, told by numbers of the caller's."""

    def __init__(self, runner: BatchRunner, budget: SharedBudget) -> None:
        self.runner = runner
        self.budget = budget
        self.reading: list[Member] = []
        """In the order in which they entered."""
        self.writing: list[Member] = []
        self.gone: Member | None = None
        """The latest text that has ended: others may still begin like it, even if all end at the same time."""

    def __len__(self) -> int:
        return len(self.reading) + len(self.writing)

    def enter(self, number: int, text: Continuation) -> None:
        """Take a text in; its prompt is read with the next passes. No other one has this number now."""
        if self.gone is not None and self.gone.number == number:
            self.forget_gone()
        self.runner.enter(number)
        self.reading.append(Member(number, text, text.to_read))

    def step(self) -> list[tuple[int, StepEvent | LookaheadError]]:
        """One pass; what came of it for each text that made a step. One that has ended, or failed, is out."""
        started = perf_counter()
        chunks = self._next_chunks()
        self._begin_writing({chunk.sequence for chunk in chunks})
        turns = self._draft()
        drafted = perf_counter()
        steps = [
            BatchStep(turn.member.number, turn.member.text.pending, turn.draft.tokens, turn.draft.parents)
            for turn in turns
        ]
        logits = self.runner.run(chunks, steps)
        computed = perf_counter()
        for turn, rows in zip(turns, logits, strict=True):
            turn.accept(rows)
        selected = perf_counter()
        self.runner.commit({turn.member.number: turn.path for turn in turns})
        verified = perf_counter()
        seconds = StepSeconds(drafted - started, computed - drafted, selected - computed, verified - started)
        happened = self._conclude(turns, seconds)
        guessing = [turn for turn in turns if turn.guesses]
        self.budget.learn(
            PassRecord(
                texts=len(turns),
                guessing=len(guessing),
                drafted=sum(len(turn.draft) for turn in guessing),
                accepted=sum(len(turn.path) for turn in guessing),
                forward_seconds=computed - drafted,
                guessing_seconds=drafted - started + perf_counter() - verified,
                reads=bool(chunks),
            )
        )
        self._begin_writing()
        return happened

    def leave(self, number: int) -> None:
        """Take a text out."""
        [member] = [each for each in (*self.reading, *self.writing) if each.number == number]
        (self.reading if member in self.reading else self.writing).remove(member)
        member.text.strategy.end()
        if not (self.runner.shares_beginnings and member.read):
            self.runner.leave(number)
            return
        self.forget_gone()
        self.gone = member

    def forget_gone(self) -> None:
        """Free the cache of the latest text that has ended."""
        if self.gone is not None:
            self.runner.leave(self.gone.number)
            self.gone = None

    def _next_chunks(self) -> list[Chunk]:
        """Parts of prompts, those first that have waited longest."""
        chunks = []
        left = READ_AT_ONCE
        gone = [] if self.gone is None else [self.gone]
        before = [(member, member.read) for member in (*gone, *self.writing)]
        for member in self.reading:
            read = member.read
            if left and (read or self._take_over(member, before)):
                tokens, member.unread = member.unread[:left], member.unread[left:]
                left -= len(tokens)
                if tokens:
                    chunks.append(Chunk(member.number, tokens, is_last=not member.unread))
            before.append((member, read))
        return chunks

    def _take_over(self, member: Member, before: Sequence[tuple[Member, int]]) -> bool:
        """What another text begins with too: instructions and examples before every prompt are read once.

        `before` has texts that are further on, and how many of their tokens are in the cache by now. Whether the rest
        is to be read now: not if one of them is about to read what both begin with.
        """
        if not self.runner.shares_beginnings:
            return True
        shared = [common_length(member.unread, other.text.to_read) for other, _ in before]
        count = max(shared, default=0)
        if count < LEAST_SHARED:
            return True
        other, read = before[shared.index(count)]
        if read < count:
            return False
        if self.runner.begin_like(member.number, other.number, count):
            member.unread = member.unread[count:]
        return True

    def _begin_writing(self, busy: Set[int] = frozenset()) -> None:
        """Those who have read their prompt, and are not `busy` reading the last of it."""
        ready = [member for member in self.reading if not member.unread and member.number not in busy]
        self.reading = [member for member in self.reading if member not in ready]
        for member in ready:
            member.text.strategy.begin(member.text.committed, None)
        self.writing += ready

    def _draft(self) -> list[Turn]:
        """Everybody's guesses: own strategies make their own, the others share what a pass is worth."""
        turns = [Turn(member, self._room(member)) for member in self.writing]
        sharing = [turn for turn in turns if turn.member.shares is not None]
        if sharing:
            for turn in sharing[self.budget.guessing(len(sharing)) :]:
                turn.guesses = False
        growers: list[tuple[Turn, Lookahead, Grower]] = []
        for turn in turns:
            strategy, committed = turn.member.shares, turn.member.text.committed
            if strategy is None:
                turn.draft = turn.member.text.strategy.draft(committed, turn.room)
            elif turn.guesses and (grower := strategy.look_ahead(committed, turn.room)) is not None:
                growers.append((turn, strategy, grower))
        sizes = self.budget.sizes(
            [grower for _, _, grower in growers],
            [strategy.confidence for _, strategy, _ in growers],
            rows=sum(1 + len(turn.draft) for turn in turns),
            texts=len(turns),
        )
        for (turn, strategy, _), size in zip(growers, sizes, strict=True):
            turn.draft = strategy.cut(size, turn.room)
        return turns

    def _room(self, member: Member) -> Room:
        number = member.number
        return member.text.room(partial(self.runner.branching, number), partial(self.runner.seats, number))

    def _conclude(self, turns: Sequence[Turn], seconds: StepSeconds) -> list[tuple[int, StepEvent | LookaheadError]]:
        learning = [turn for turn in turns if turn.guesses and isinstance(turn.member.text.strategy, Lookahead)]
        likely = dict(zip(map(id, learning), likely_rows(learning), strict=True))
        happened: list[tuple[int, StepEvent | LookaheadError]] = []
        for turn in turns:
            what: StepEvent | LookaheadError
            if turn.failure is not None:
                what = turn.failure
            else:
                assert turn.logits is not None, "the pass has been made"
                text, known = turn.member.text, likely.get(id(turn))
                what = text.conclude(turn.draft, turn.logits, turn.path, seconds, likely=known, learns=turn.guesses)
            happened.append((turn.member.number, what))
            if isinstance(what, LookaheadError) or what.finish_reason is not None:
                self.leave(turn.member.number)
        return happened


def likely_rows(turns: Sequence[Turn]) -> list[LikelyTokens]:
    """For each turn the likeliest tokens of its rows, all worked out at once."""
    if not turns:
        return []
    rows = [turn.logits for turn in turns if turn.logits is not None]
    together = likely_tokens(torch.cat(rows))
    parts, first = [], 0
    for part in rows:
        last = first + len(part)
        parts.append(LikelyTokens(together.ids[first:last], together.probabilities[first:last]))
        first = last
    return parts
