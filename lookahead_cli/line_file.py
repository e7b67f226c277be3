"""A file of whole lines that only grows: whatever ends the program leaves at most the last line torn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from lookahead_cli.errors import ResourceError

Content = TypeVar("Content")


@dataclass(frozen=True)
class Line(Generic[Content]):
    """A line of a file, and what it says."""

    number: int
    """From 1."""
    offset: int
    raw: bytes
    """With the newline."""
    content: Content


def append(path: Path, file: BinaryIO, lines: bytes) -> int:
    """Write whole lines at the end of `file`, which is `path` opened without a buffer. Returns where they begin.

    Raises:
        ResourceError: they cannot be written; nothing of them stays.
    """
    before = file.seek(0, os.SEEK_END)
    try:
        write_all(file, lines)
    except BaseException as error:  # Ctrl-C between two parts of a line must not leave half of it either
        with suppress(OSError):
            cut(file, before)
        if isinstance(error, OSError):
            raise not_written(path, error) from None
        raise
    return before


def write_all(file: BinaryIO, content: bytes) -> None:
    """However many writes it takes. Raises OSError, perhaps with a part written."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file.fileno(), rest) :]


def not_written(path: Path, error: OSError) -> ResourceError:
    """The sentence about a file that takes no more."""
    return ResourceError(f"{path} could not be written: {error.strerror or error}")


def cut(file: BinaryIO, length: int) -> None:
    """Take out everything from byte `length` on. Raises OSError."""
    file.seek(length)
    file.truncate()


def whole_lines(file: BinaryIO, understand: Callable[[bytes], Content]) -> Iterator[Line[Content]]:
    """What `understand` makes of each line, one at a time. A last line that was torn is taken out of the file.

    Torn is a last line without its newline, or one that `understand` raises ValueError for.

    Raises:
        ValueError: a line before the last is damaged; the message goes on after the name of the file.
        OSError: it cannot be read, or not be cut.
    """
    file.seek(0)
    # A buffer of its own: `file` stays without one, so that what is appended is in the file at once.
    with open(os.dup(file.fileno()), "rb") as reader:  # noqa: PTH123
        offset, torn = 0, None
        for number, raw in enumerate(reader, start=1):
            if torn is not None:
                raise ValueError(f"is damaged in line {number - 1} ({torn}): take it out")
            try:
                if not raw.endswith(b"\n"):
                    raise ValueError("no line break")
                content = understand(raw)
            except ValueError as error:
                torn = error
                continue
            yield Line(number, offset, raw, content)
            offset += len(raw)
    if torn is not None:
        cut(file, offset)
