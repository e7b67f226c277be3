"""Writing outcomes as they come: in the order of the input, or at once."""

from __future__ import annotations

from typing import Protocol

from lookahead_cli.batch.result_lines import Digest, LineForm, digest_of, line_of
from lookahead_cli.batch.results import Outcome
from lookahead_cli.batch.turns import Turns


class Store(Protocol):
    """Where lines go, and where they wait: `ResultFile` or `ResultStream`."""

    failed_before: int

    @property
    def held_in_memory(self) -> int: ...
    def is_written(self, digest: Digest) -> bool: ...
    def is_held(self, digest: Digest) -> bool: ...
    def line(self, digest: Digest) -> bytes: ...
    def add(self, line: bytes, /) -> None: ...
    def hold(self, digest: Digest, line: bytes) -> None: ...
    def release(self, digest: Digest) -> None: ...
    def tidy(self) -> None: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...


class Writer(Protocol):
    """Takes one outcome for each record, in any order."""

    def expect(self, number: int) -> None:
        """A record was read. To be called for each one, in the order of the input, before anything else about it."""

    def write(self, outcome: Outcome) -> None:
        """Raises ResourceError if it cannot be written, BrokenPipeError if nobody reads."""

    def skip(self, number: int, id: str) -> None:
        """An earlier run has left the outcome of this record. Raises like `write`."""

    def finish(self) -> None:
        """All input was read, and of everything expected there is an outcome. Raises like `write`."""


class Ordered:
    """Writes in the order of what was expected; what comes before its turn is held."""

    def __init__(self, store: Store, form: LineForm) -> None:
        self.store, self.form = store, form
        self.turns: Turns[Digest | None] = Turns()
        """What arrives is what to release, or None if it is in the output already."""

    def expect(self, number: int) -> None:
        self.turns.expect(number)

    def write(self, outcome: Outcome) -> None:
        digest = digest_of(outcome.id)
        line = line_of(outcome, self.form)
        if self.turns.is_next(outcome.number):
            self.store.add(line)
            self.turns.arrive(outcome.number, None)
        else:
            self.store.hold(digest, line)
            self.turns.arrive(outcome.number, digest)
        self._pass_on()

    def skip(self, number: int, id: str) -> None:
        digest = digest_of(id)
        self.turns.arrive(number, digest if self.store.is_held(digest) else None)
        self._pass_on()

    def _pass_on(self) -> None:
        for digest in self.turns.passing():
            if digest is not None:
                self.store.release(digest)
        self.store.tidy()

    def finish(self) -> None:
        if len(self.turns):
            raise ValueError(f"{len(self.turns)} records are without an outcome")
        self.store.finish()


class Unordered:
    """Writes at once."""

    def __init__(self, store: Store, form: LineForm) -> None:
        self.store, self.form = store, form

    def expect(self, number: int) -> None:
        pass

    def write(self, outcome: Outcome) -> None:
        self.store.add(line_of(outcome, self.form))

    def skip(self, number: int, id: str) -> None:
        digest = digest_of(id)
        if self.store.is_held(digest):  # it came after a failure that is tried again
            self.store.release(digest)

    def finish(self) -> None:
        self.store.finish()
