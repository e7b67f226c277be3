"""What the loop asks of a strategy: a draft before each step, and to learn from the step after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.models.seats import Seats, Unlimited


@dataclass(frozen=True)
class Room:
    """How large the next draft may be."""

    depth: int
    """Guesses one after the other: the bonus token must still be allowed behind them."""
    branching: Callable[[int], bool]
    """Whether a draft of so many nodes may branch; else it has to be a chain."""
    seats: Callable[[], Seats] = Unlimited
    """Room for the nodes of a draft that branches: it has to be asked for each of them."""


class Strategy(Protocol):
    """Drafts for one generation after the other."""

    wants_prompt_rows: bool
    """Whether it has a use for what the model finds likely inside the prompt, which costs time to work out."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        """The prompt has been processed. `likely` has a row for each of its tokens but the last, if it was wanted and
        but for those read for an earlier sequence; None too if there was nothing to read."""

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        """Guesses for the tokens after `committed`."""

    def observe(self, step: VerifiedStep) -> None:
        """Learn from a finished step. Not called after the last one."""

    def beside(self, sampling: SamplingSettings) -> Strategy:
        """A strategy of the same kind for another text, which is decoded at the same time: what is learned serves both,
        as far as it is not about the text itself."""

    def end(self) -> None:
        """The text is over, and there will be no other: leave what was learned to those beside."""
