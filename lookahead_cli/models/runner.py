"""What decoding needs of a model: run a prompt, verify a draft, keep what was accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from lookahead_cli.models.seats import Seats

MOST_FORGOTTEN = 64
"""Committed tokens that can be taken back. Layers with a sliding window keep so many entries more than they look at."""


def nobody(read: int) -> None:
    """Hears how far the reading of a prompt has come, and does nothing."""


class Runner(Protocol):
    """A model with its KV cache, for one sequence at a time."""

    vocab: int
    """Number of token ids the model takes."""
    rewind_obstacle: str | None
    """Why rejected guesses cannot be taken out of the cache again, or None if they can. With an obstacle only empty
    drafts may be verified."""

    @property
    def tree_obstacle(self) -> str | None:
        """Why branches cannot be verified in one pass, or None if they can (up to a length that `branching` knows)."""

    def branching(self, nodes: int) -> bool:
        """Whether the next step takes a tree of up to `nodes` guesses that branches. A chain can always be taken."""

    def seats(self) -> Seats:
        """Room for the nodes of the next step's tree, if it branches."""

    def keeps(self, count: int) -> bool:
        """Whether a new sequence can begin with the first `count` committed tokens of the last one as they lie in the
        cache."""

    def prefill(
        self,
        tokens: Sequence[int],
        take_rows: Callable[[Tensor], None] | None = None,
        *,
        kept: int = 0,
        tell: Callable[[int], None] = nobody,
    ) -> None:
        """Start a new sequence with `tokens`, of which the first `kept` are in the cache already (see `keeps`).

        `take_rows` is given the logits (n, vocab) of every part of the others in turn; without it they need not be
        worked out. `tell` hears after each part how many of `tokens` are in the cache: it may end the whole with an
        exception.
        """

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Run the pending token and a tree of guesses after it; logits (1 + len(tokens), vocab) float32.

        `parents[i]` is the node that node i follows, always an earlier one, or -1 for the pending token. Row 0 of the
        result speaks of the position after the pending token, row 1 + i of the one after node i.
        """

    def commit(self, path: Sequence[int]) -> None:
        """Keep the pending token and the nodes of `path` in the cache, in order, and nothing else of the last step."""

    def forget(self, count: int) -> None:
        """Take the last `count` committed tokens out of the cache again: the next step goes on behind those before.

        The cache need not hold what lies more than MOST_FORGOTTEN behind the longest it has been since prefill.
        """

    def twin(self) -> Runner:
        """Another runner of the same model: the weights are shared, the cache is its own and empty."""
