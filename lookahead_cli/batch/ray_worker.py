"""What runs in a worker of a Ray cluster: a model of its own with the engine around it. Knows nothing of Ray."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from lookahead_cli import __version__
from lookahead_cli.batch.engine import Engine
from lookahead_cli.batch.records import Record
from lookahead_cli.batch.results import Outcome
from lookahead_cli.profile import Settings
from lookahead_cli.session import open_session

BEAT = 0.1
"""Seconds after which results leave a worker and new records can enter: seldom enough to cost next to nothing."""
READY_SHARE = 8
"""Besides those in the batch, a worker holds one record ready for so many of them: a batch stays full while the next
ones are on their way. Few, since a record that waits here cannot be answered by a worker that has nothing to do."""


@dataclass(frozen=True)
class Started:
    """A worker is there."""

    version: str
    """Of this package, on its machine."""


@dataclass(frozen=True)
class Loaded:
    """It has its model."""

    dtype: str
    """In which it computes."""
    notices: tuple[str, ...]
    """As `Answering.notices`."""
    places: int
    """Records it wants."""


@dataclass(frozen=True)
class Worked:
    """Some passes have been made."""

    outcomes: tuple[Outcome, ...]
    places: int
    """Further records it wants."""


class RayWorker:
    """Answers the records that it is sent; what it raises is for the driver to raise again."""

    def __init__(self, settings: Settings, size: int | Literal["auto"], memory_share: float) -> None:
        """`memory_share` is the part of a worker's usual memory that is left to it by others on the same machine."""
        self.settings, self.size, self.memory_share = settings, size, memory_share
        self.inbox: deque[Record] = deque()

    def start(self) -> Started:
        """Say that it is there: a model can take minutes."""
        return Started(__version__)

    def load(self) -> Loaded:
        """Load the model. Raises the same as `open_session`."""
        session = open_session(self.settings)
        self.engine = Engine(session, self.size)
        self.engine.size.memory *= self.memory_share
        return Loaded(session.settings.model.dtype, tuple(self.engine.notices), self._wanted)

    def work(self, records: list[Record]) -> Worked:
        """Take records, and make passes until there is something to tell, something to ask for, or nothing to do.

        Raises:
            LookaheadError: the run cannot go on.
        """
        self.inbox += records
        outcomes: list[Outcome] = []
        until = perf_counter() + BEAT
        while True:
            while self.inbox and self.engine.places > 0:
                failure = self.engine.take_in(self.inbox.popleft())
                if failure is not None:
                    outcomes.append(failure)
            if not self.engine.running:
                break
            outcomes += self.engine.go_on()
            if outcomes and not self.inbox:
                break  # a place is free that nobody here can take
            if perf_counter() >= until and (outcomes or self.engine.places > 0):
                break
        return Worked(tuple(outcomes), self._wanted)

    @property
    def _wanted(self) -> int:
        ready = 1 + self.engine.size.most // READY_SHARE
        return max(0, self.engine.places + ready - len(self.inbox))
