"""Ctrl-C that is not lost: some libraries swallow the exception while they are being imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

from lookahead_cli.errors import Interrupted

HELD_DOWN = 0.5
"""Seconds in which a further Ctrl-C is taken for the same one: the key was held down."""


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Ctrl-C inside is raised as `Interrupted`, at the end at the latest if something has swallowed it."""
    if _is_ignored():
        yield
        return
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    except BaseException as error:
        if heard:  # whatever became of the exception on its way
            raise Interrupted("interrupted") from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise Interrupted("interrupted")


@contextmanager
def stops_noted() -> Iterator[Callable[[], bool]]:
    """Ctrl-C inside asks for a stop at the next good moment: what it gives says whether somebody did. The second time
    it is raised, for a moment that does not come; a key that is held down does not disturb what follows from that."""
    times = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal times
        times += 1
        if times == 2:
            raise KeyboardInterrupt

    if _is_ignored():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield lambda: times > 0
    finally:
        signal.signal(signal.SIGINT, before)


Attempt = Callable[[Callable[[], None]], bool]
"""Does something; whether Ctrl-C did not end it."""


@contextmanager
def interrupts_end_attempts() -> Iterator[Attempt]:
    """Ctrl-C inside ends what is being attempted, and nothing else: between two attempts it means nothing."""
    attempting, raised = False, -HELD_DOWN

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        if attempting and monotonic() - raised > HELD_DOWN:
            raised = monotonic()
            raise KeyboardInterrupt

    def attempt(action: Callable[[], None]) -> bool:
        nonlocal attempting
        try:
            attempting = True
            action()
        except KeyboardInterrupt:
            return False
        finally:
            attempting = False
        return True

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield attempt
    finally:
        signal.signal(signal.SIGINT, before)


def _is_ignored() -> bool:
    """Whether Ctrl-C is not for us: in the background, or where somebody else has the main thread."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return ignored or threading.current_thread() is not threading.main_thread()
