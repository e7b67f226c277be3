"""The two outputs of the program: their encoding, and what happens when they take no more."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lookahead_cli.errors import ReaderGone, ResourceError


def prepare_outputs() -> None:
    """Text leaves as UTF-8 with plain line breaks; a terminal that knows fewer characters gets signs for the rest."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


@contextmanager
def writing_output() -> Iterator[None]:
    """Say in one sentence that the output could not be written; a reader that has gone ends the program silently."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        raise ReaderGone from None
    except OSError as error:
        discard_output()
        raise ResourceError(f"the output could not be written: {error.strerror or error}") from None


def discard_output() -> None:
    """Python flushes stdout once more at exit: let that go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
