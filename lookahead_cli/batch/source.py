"""One thing to read: a file, a pipe, standard input."""

from __future__ import annotations

import io
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lookahead_cli.errors import ResourceError

BUFFER = 2**16
"""Bytes asked of the system at once."""


@dataclass(frozen=True)
class Source:
    """One thing to read."""

    name: str
    """What it is called in ids and messages; no two have the same."""
    path: Path | None
    """None: standard input."""
    size: int | None = None
    """Bytes of a regular file; None where nobody knows how much will come."""

    @property
    def suffix(self) -> str:
        """How its name ends, if that says what it is."""
        return "" if self.path is None else self.path.suffix.lower()

    @property
    def delimiter(self) -> str:
        """What stands between two cells, if it is a table."""
        return "\t" if self.suffix == ".tsv" else ","

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Its bytes, from the beginning.

        Raises:
            OSError: it cannot be read.
        """
        return open_stdin() if self.path is None else self.path.open("rb", buffering=BUFFER)


def open_stdin() -> AbstractContextManager[BinaryIO]:
    """Standard input, by a file object of our own: Python aborts at exit if a thread still waits in `sys.stdin`."""
    if sys.stdin is None:
        raise ResourceError("standard input is closed: give a file, or pipe something in")
    try:
        number = sys.stdin.fileno()
    except io.UnsupportedOperation:  # whoever runs us within a program has put something else there
        return nullcontext(sys.stdin.buffer)
    return open(number, "rb", buffering=BUFFER, closefd=False)
