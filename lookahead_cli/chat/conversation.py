"""A conversation: what was said by whom, and what of it still fits into the model's context."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lookahead_cli.text.chat import Message

USER, ASSISTANT = "user", "assistant"


@dataclass
class Turn:
    """What the user said, and what the model answered."""

    said: str
    answer: str = ""


@dataclass
class Conversation:
    """Turns under a system text. The oldest may have been dropped from what the model is shown."""

    system: str = ""
    turns: list[Turn] = field(default_factory=list)
    dropped: int = 0
    """How many of the first turns the model is not shown any more."""

    @property
    def messages(self) -> list[Message]:
        """What the model is shown, without the system text; ends with what the user said if that has no answer yet."""
        messages: list[Message] = []
        for turn in self.turns[self.dropped :]:
            messages.append({"role": USER, "content": turn.said})
            if turn.answer:
                messages.append({"role": ASSISTANT, "content": turn.answer})
        return messages

    def asking(self, said: str) -> Conversation:
        """The conversation with one more thing said by the user; this one stays as it is."""
        return replace(self, turns=[*self.turns, Turn(said)])

    def fitting(self, count: Callable[[Sequence[Message]], int], most: int, enough: int) -> Conversation:
        """The conversation with the oldest turns dropped if it has more than `most` tokens by `count`.

        Then so many that it has no more than `enough`, since dropping means that the model reads all of it again. The
        latest turn stays.
        """
        if count(self.messages) <= most:
            return self
        last = len(self.turns) - 1
        # Halving, since a conversation from a file may have thousands of turns, and counting tokens takes a while.
        fewest = range(self.dropped + 1, last)
        fit = bisect_left(fewest, True, key=lambda dropped: count(replace(self, dropped=dropped).messages) <= enough)
        return replace(self, dropped=min(self.dropped + 1 + fit, last))
