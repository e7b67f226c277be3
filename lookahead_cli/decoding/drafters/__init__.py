"""Drafters: where guesses come from. A drafter never affects which tokens come out, only how fast.

A drafter answers one question, for the pending token and for every guess after it: which tokens may come next? How
much each answer is worth is not for it to say. It only sorts its answers into kinds, and `hit_rates.py` learns how
often each kind is right. So a new drafter is one file and one entry in `registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Self

    from lookahead_cli.decoding.draft import Draft
    from lookahead_cli.decoding.likely import LikelyTokens
    from lookahead_cli.decoding.select import SamplingSettings

LONGEST_CONTEXT = 3
"""Tokens before a guess that drafters look at, but for copies, which match longer runs."""

NOTHING: Mapping[int, int] = {}
"""What a drafter says that knows nothing."""


class ByContext:
    """The state of drafters that look at the last tokens alone: these tokens, guesses among them."""

    def root(self, committed: Sequence[int]) -> tuple[int, ...]:
        return tuple(committed[-LONGEST_CONTEXT:])

    def follow(self, state: tuple[int, ...], token: int) -> tuple[int, ...]:
        return (*state, token)[-LONGEST_CONTEXT:]


@dataclass(frozen=True)
class Outcome:
    """A finished step as drafters see it: what the model finds likely after every row of the pass."""

    committed: Sequence[int]
    """Prompt and output, the emitted tokens of this step among them."""
    position: int
    """Position of the first emitted token; the pending token stands before it."""
    draft: Draft
    path: tuple[int, ...]
    """The accepted nodes, in order."""
    likely: LikelyTokens
    """Row 0 follows the pending token, row 1 + i node i."""
    logits: Tensor
    """(1 + len(draft), vocab), the rows in full."""

    @cached_property
    def contexts(self) -> list[tuple[int, ...]]:
        """For each row the last tokens before what it speaks of, at most LONGEST_CONTEXT; guesses included."""
        contexts = [tuple(self.committed[max(0, self.position - LONGEST_CONTEXT) : self.position])]
        for token, parent in zip(self.draft.tokens, self.draft.parents, strict=True):
            contexts.append((*contexts[parent + 1], token)[-LONGEST_CONTEXT:])
        return contexts

    @cached_property
    def depths(self) -> list[int]:
        """For each row how many guesses lie between it and the pending token."""
        depths = [0]
        for parent in self.draft.parents:
            depths.append(depths[parent + 1] + 1)
        return depths

    @property
    def rejected(self) -> list[int]:
        """Nodes that were not accepted."""
        accepted = set(self.path)
        return [node for node in range(len(self.draft)) if node not in accepted]

    @property
    def selected_rows(self) -> list[int]:
        """The rows the emitted tokens were selected from, in order."""
        return [0, *(1 + node for node in self.path)]


class Drafter(Protocol):
    """Knows tokens that may follow. Its state at a place in the tree is its own affair: `root` makes it, `follow`
    carries it on, `guesses` reads it."""

    name: str
    """The provenance of its guesses. Several drafters may share one."""
    key: str
    """Tells it from all others, for what is learned about it."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        """A new sequence. `likely` has a row for each prompt token but the last and those read for an earlier sequence;
        None if they are not known."""

    def root(self, committed: Sequence[int]) -> Any:
        """State at the pending token, the last of `committed`."""

    def follow(self, state: Any, token: int) -> Any:
        """State after one guess more."""

    def guesses(self, state: Any) -> Mapping[int, int]:
        """Tokens that may come next, each with the kind of its evidence: a number from 0."""

    def expected(self, kind: int) -> float:
        """Roughly how often a guess of this kind is right: where learning starts. In (0, 1)."""

    def learn(self, outcome: Outcome) -> None:
        """Take in a finished step."""

    def beside(self, sampling: SamplingSettings) -> Drafter:
        """The drafter for another text that is decoded at the same time: what is not about the text itself is shared.
        It may be the same one."""

    def end(self) -> None:
        """The text is over: leave what it taught to those beside."""


class SharedByTexts:
    """Drafters that know nothing of the text itself: one serves all."""

    def beside(self, sampling: SamplingSettings) -> Self:
        return self

    def end(self) -> None:
        pass
