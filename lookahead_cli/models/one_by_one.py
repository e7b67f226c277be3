"""Many sequences one after the other, for models that cannot have them in one pass: each has a runner of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor

from lookahead_cli.models.batch_runner import BatchStep, Chunk
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.seats import Seats

if TYPE_CHECKING:
    from lookahead_cli.models.transformers_runner import TransformersRunner


@dataclass
class Alone:
    """A sequence and its runner."""

    runner: Runner
    prompt: list[int] = field(default_factory=list)
    """What has come of it. The runner reads it in one go: a running state may depend on how a prompt is cut."""

    def take(self, chunk: Chunk) -> None:
        self.prompt += chunk.tokens
        if chunk.is_last:
            self.runner.prefill(self.prompt)
            self.prompt = []


class OneByOne:
    """What comes out is what each sequence gives alone."""

    shares_beginnings = False
    most_sequences: int | None = 1
    """Any number can be had, but several take as long side by side as one after the other, and more memory."""

    def __init__(self, runner: TransformersRunner, obstacle: str) -> None:
        self.runner = runner
        self.vocab = runner.vocab
        self.obstacle: str | None = obstacle
        self.sequences: dict[int, Alone] = {}

    def bytes_for(self, tokens: int) -> int:
        return self.runner.bytes_for(tokens)

    def enter(self, sequence: int) -> None:
        self.sequences[sequence] = Alone(self.runner.twin())

    def begin_like(self, sequence: int, other: int, count: int) -> bool:
        raise NotImplementedError("every prompt is read")

    def leave(self, sequence: int) -> None:
        del self.sequences[sequence]

    def branching(self, sequence: int, nodes: int) -> bool:
        return self.sequences[sequence].runner.branching(nodes)

    def seats(self, sequence: int) -> Seats:
        return self.sequences[sequence].runner.seats()

    def run(self, chunks: Sequence[Chunk], steps: Sequence[BatchStep]) -> list[Tensor]:
        for chunk in chunks:
            self.sequences[chunk.sequence].take(chunk)
        return [self.sequences[each.sequence].runner.step(each.pending, each.tokens, each.parents) for each in steps]

    def commit(self, paths: Mapping[int, Sequence[int]]) -> None:
        for sequence, path in paths.items():
            self.sequences[sequence].runner.commit(path)
