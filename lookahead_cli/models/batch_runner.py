"""What decoding needs of a model to go on with many sequences in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lookahead_cli.models.seats import Seats


@dataclass(frozen=True)
class Chunk:
    """The next part of a sequence's prompt, to be read."""

    sequence: int
    tokens: Sequence[int]
    is_last: bool
    """Whether the prompt ends with it."""

    @property
    def rows(self) -> Sequence[int]:
        """The tokens that go through the model."""
        return self.tokens

    @property
    def parents(self) -> Sequence[int]:
        """Of all rows but the first, as in a step: each follows the one before it."""
        return range(-1, len(self.tokens) - 2)


@dataclass(frozen=True)
class BatchStep:
    """A sequence's pending token and a tree of guesses after it, as in `Runner.step`."""

    sequence: int
    pending: int
    tokens: Sequence[int]
    parents: Sequence[int]

    @property
    def rows(self) -> Sequence[int]:
        """The tokens that go through the model."""
        return [self.pending, *self.tokens]


class BatchRunner(Protocol):
    """A model with a KV cache for each of many sequences, which are told by numbers of the caller's."""

    vocab: int
    """Number of token ids the model takes."""
    shares_beginnings: bool
    """Whether `begin_like` can be done."""
    most_sequences: int | None
    """How many at a time there is a use for; None: any number."""

    @property
    def obstacle(self) -> str | None:
        """Why sequences are not run in one pass, or None if they are."""

    def bytes_for(self, tokens: int) -> int:
        """Memory that the cache of a sequence takes up that grows to so many tokens."""

    def enter(self, sequence: int) -> None:
        """Begin a sequence; its cache is empty."""

    def begin_like(self, sequence: int, other: int, count: int) -> bool:
        """Let a sequence whose cache is empty begin with the first `count` tokens of another. False if those are not
        fit for it: the model breaks down over what the other read with them.

        Raises:
            ResourceError: the memory did not suffice.
        """

    def leave(self, sequence: int) -> None:
        """End a sequence and free its cache."""

    def branching(self, sequence: int, nodes: int) -> bool:
        """Whether its next step takes a tree of up to `nodes` guesses that branches. A chain can always be taken."""

    def seats(self, sequence: int) -> Seats:
        """Room for the nodes of its next step's tree, if that branches."""

    def run(self, chunks: Sequence[Chunk], steps: Sequence[BatchStep]) -> list[Tensor]:
        """One pass over all of it; the logits of each step, (1 + len(tokens), vocab) float32. A sequence has one chunk
        or one step in a pass, and no chunk after a step.

        Raises:
            ResourceError: the memory did not suffice.
        """

    def commit(self, paths: Mapping[int, Sequence[int]]) -> None:
        """For every sequence that made a step in the latest pass: keep the pending token and the nodes of its path, in
        order, and nothing else of it."""
