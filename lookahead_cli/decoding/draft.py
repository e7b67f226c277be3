"""A trie of guessed tokens, and the path through it that the model agrees with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from lookahead_cli.decoding.select import TokenSelector

ROOT = -1
"""Stands for the pending token where a node is meant."""


@dataclass(frozen=True)
class Draft:
    """Guesses after the pending token: a trie, each node one token. Nodes come after their parents."""

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    """For each node the node it follows, or ROOT. No two children of a node hold the same token."""
    provenance: tuple[str, ...] = ()
    """For each node the drafter it came from."""

    @classmethod
    def chain(cls, tokens: Sequence[int], drafter: str) -> Draft:
        """Guesses one after the other: a trie with a single branch."""
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)), (drafter,) * len(tokens))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def children(self) -> dict[tuple[int, int], int]:
        """The node for (parent, token)."""
        return {edge: node for node, edge in enumerate(zip(self.parents, self.tokens, strict=True))}

    @property
    def count_by_drafter(self) -> dict[str, int]:
        """How many nodes each drafter has in it."""
        return dict(Counter(self.provenance))

    def tested_depth(self, path: Sequence[int]) -> int:
        """Guesses in a row that a walk along the accepted `path` meets: the last one is wrong, or ends its branch."""
        last = path[-1] if path else ROOT
        return len(path) + (last in self.parents)

    def path_to(self, node: int) -> list[int]:
        """Nodes from the one after the pending token to `node`; empty for ROOT."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return path[::-1]


NO_GUESSES = Draft()
"""What plain decoding drafts."""


def accept(draft: Draft, logits: Tensor, selector: TokenSelector, committed: list[int]) -> tuple[int, ...]:
    """Extend `committed` by every guess the model agrees with and one token more; return the nodes of those guesses.

    `logits` (1 + len(draft), vocab). Row 1 + i speaks of the position *after* node i (row 0: after the pending token),
    so the children of a node are compared with what is selected from the node's own row.
    """
    path: list[int] = []
    children = draft.children
    node: int | None = ROOT
    while node is not None:
        token = selector.select(logits[1 + node], len(committed), committed)
        committed.append(token)
        node = children.get((node, token))
        if node is not None:
            path.append(node)
    return tuple(path)
