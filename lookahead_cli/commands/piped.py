"""What is piped into the program."""

from __future__ import annotations

import sys


def stdin_is_piped() -> bool:
    """Whether something may come from standard input: it is neither a terminal nor closed."""
    return sys.stdin is not None and not sys.stdin.isatty()


def piped_content() -> bytes | None:
    """What is on standard input; None if that is a terminal, closed, or (as `nohup` leaves it) not for reading."""
    if not stdin_is_piped():
        return None
    try:
        return sys.stdin.buffer.read()
    except OSError:
        return None
