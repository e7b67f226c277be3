"""One prompt being continued, as those see it who show or record it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lookahead_cli.decoding.events import Event, FinishReason, StepEvent
from lookahead_cli.decoding.statistics import Statistics


@dataclass
class Generation:
    """One prompt being continued. Iterate for the events; everything else grows as you do."""

    prompt_ids: list[int]
    events: Iterator[Event]
    statistics: Statistics = field(default_factory=Statistics)
    steps: list[StepEvent] = field(default_factory=list)

    def __iter__(self) -> Iterator[Event]:
        for event in self.events:
            self.statistics.add(event)
            if isinstance(event, StepEvent):
                self.steps.append(event)
            yield event

    @property
    def token_ids(self) -> list[int]:
        """The emitted tokens. The one that ended the output is among them: end of text, or the end of a stop string."""
        return [token for step in self.steps for token in step.token_ids]

    @property
    def text(self) -> str:
        """The text handed out so far."""
        return "".join(step.text for step in self.steps)

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it ended; None while it has not."""
        return self.steps[-1].finish_reason if self.steps else None
