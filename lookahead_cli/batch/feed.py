"""Reading ahead, so that whoever decodes never waits for a file and can go on while standard input is silent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from threading import Condition, Thread
from types import TracebackType
from typing import Protocol

from lookahead_cli.batch.records import BadRecord, Record

READ_AHEAD = 64
"""Records held ready: more than a batch takes at once, and little memory."""
HEARTBEAT = 0.1
"""Seconds after which a wait is begun anew: on Windows one without end would not hear Ctrl-C."""


class Supply(Protocol):
    """Where records come from."""

    def take(self, wait: bool) -> Record | BadRecord | None:
        """The next record; None: with `wait`, that there will be none; without, that none is there at the moment.

        Raises:
            LookaheadError: reading has failed here.
        """

    @property
    def ended(self) -> bool:
        """Whether everything has been taken and nothing will come."""


class Feed:
    """Records out of an iterator that a thread of its own asks.

    What the iterator raises is raised by `take`, after the records before it. The thread does not keep the process
    from ending, even if it hangs in a read for ever.
    """

    def __init__(self, records: Iterator[Record | BadRecord], read_ahead: int = READ_AHEAD) -> None:
        self._records = records
        self._read_ahead = read_ahead
        self._ready: deque[Record | BadRecord] = deque()
        self._error: BaseException | None = None
        self._finished = False
        self._closed = False
        self._changed = Condition()
        Thread(target=self._read, name="feed", daemon=True).start()

    def __enter__(self) -> Feed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take(self, wait: bool) -> Record | BadRecord | None:
        with self._changed:
            while wait and not self._ready and not self._finished:
                self._changed.wait(HEARTBEAT)
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return None

    @property
    def ended(self) -> bool:
        with self._changed:
            return self._finished and not self._ready and self._error is None

    def close(self) -> None:
        """Let the thread end, without waiting for it; what has not been taken is dropped."""
        with self._changed:
            self._closed = self._finished = True
            self._ready.clear()
            self._error = None
            self._changed.notify_all()

    def _read(self) -> None:
        error: BaseException | None = None
        try:
            for record in self._records:
                if not self._offer(record):
                    break
        except BaseException as caught:  # it belongs to the taker, whatever it is
            error = caught
        with self._changed:
            if not self._closed:
                self._error, self._finished = error, True
                self._changed.notify_all()
        close = getattr(self._records, "close", None)
        if close is not None:
            close()

    def _offer(self, record: Record | BadRecord) -> bool:
        """Hold a record ready as soon as there is room; False if nobody wants one any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._ready) < self._read_ahead)
            if not self._closed:
                self._ready.append(record)
                self._changed.notify_all()
            return not self._closed
