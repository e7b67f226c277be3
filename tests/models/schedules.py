"""Random schedules for batch runners: prompts in chunks, trees, accepted paths, sequences that enter and leave."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from lookahead_cli.models.batch_runner import BatchRunner, BatchStep, Chunk
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.seats import Seats

Same = Callable[[torch.Tensor, torch.Tensor], None]


@dataclass
class Move:
    """A step of a sequence, and what came of it."""

    step: BatchStep
    path: list[int]
    logits: torch.Tensor


@dataclass
class Story:
    """A sequence from its prompt to its last step."""

    prompt: list[int]
    steps: int
    """As many as it makes before it leaves."""
    unread: list[int] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unread = list(self.prompt)

    def check(self, runner: Runner, same: Same) -> None:
        """The same alone in `runner` gives the same logits."""
        runner.prefill(self.prompt)
        for move in self.moves:
            expected = runner.step(move.step.pending, move.step.tokens, move.step.parents)
            same(move.logits, expected)
            runner.commit(move.path)


class Schedule:
    """Has a batch runner run random sequences. Iterate: after every pass, before what it brought is committed, there
    are the steps of that pass."""

    def __init__(
        self, batch: BatchRunner, seed: int, *, texts: int = 6, steps: int = 6, longest_prompt: int = 20, nodes: int = 8
    ) -> None:
        self.batch = batch
        self.chance = random.Random(seed)
        self.nodes = nodes
        self.told = [
            Story(self._tokens(self.chance.randrange(longest_prompt + 1)), self.chance.randint(1, steps))
            for _ in range(texts)
        ]
        self.present: dict[int, Story] = {}

    def __iter__(self) -> Iterator[Sequence[BatchStep]]:
        waiting = list(enumerate(self.told))
        while waiting or self.present:
            while waiting and (not self.present or self.chance.random() < 0.5):
                number, story = waiting.pop()
                self.batch.enter(number)
                self.present[number] = story
            yield from self._pass()

    def _pass(self) -> Iterator[Sequence[BatchStep]]:
        present = list(self.present.items())
        taking_part = self.chance.sample(present, self.chance.randint(1, len(present)))
        steps = [self._step(number) for number, story in taking_part if not story.unread]
        chunks = [self._chunk(number, story) for number, story in taking_part if story.unread]
        found = self.batch.run(chunks, steps)
        assert [logits.shape for logits in found] == [(1 + len(step.tokens), self.batch.vocab) for step in steps]
        yield steps
        paths = {step.sequence: self._path(step) for step in steps}
        self.batch.commit(paths)
        for step, logits in zip(steps, found, strict=True):
            story = self.present[step.sequence]
            story.moves.append(Move(step, paths[step.sequence], logits.clone()))
            if len(story.moves) == story.steps:
                self.batch.leave(step.sequence)
                del self.present[step.sequence]

    def _chunk(self, number: int, story: Story) -> Chunk:
        size = self.chance.randint(1, len(story.unread))
        tokens, story.unread = story.unread[:size], story.unread[size:]
        return Chunk(number, tokens, is_last=not story.unread)

    def _step(self, number: int) -> BatchStep:
        wanted = self.chance.choice([0, self.chance.randint(0, self.nodes)])
        branching = self.batch.branching(number, wanted)
        tokens, parents = self._tree(wanted, branching, self.batch.seats(number))
        return BatchStep(number, self.chance.randrange(self.batch.vocab), tokens, parents)

    def _tree(self, wanted: int, branching: bool, seats: Seats) -> tuple[list[int], list[int]]:
        tokens: list[int] = []
        parents: list[int] = []
        for _ in range(wanted):
            parent = self.chance.randrange(-1, len(tokens)) if branching else len(tokens) - 1
            token = self.chance.randrange(self.batch.vocab)
            twin = (parent, token) in zip(parents, tokens, strict=True)
            if twin or (branching and not seats.fits(parent)):
                continue
            if branching:
                seats.take(parent)
            tokens.append(token)
            parents.append(parent)
        return tokens, parents

    def _path(self, step: BatchStep) -> list[int]:
        """From the pending token to any node, or to none."""
        path: list[int] = []
        node = self.chance.randrange(-1, len(step.tokens))
        while node >= 0:
            path.append(node)
            node = step.parents[node]
        return path[::-1]

    def _tokens(self, count: int) -> list[int]:
        return [self.chance.randrange(self.batch.vocab) for _ in range(count)]


def run_through(schedule: Schedule) -> list[Story]:
    """What became of the sequences of a schedule."""
    for _ in schedule:
        pass
    assert all(len(story.moves) == story.steps for story in schedule.told)
    return schedule.told
