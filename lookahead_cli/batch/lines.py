"""Lines of a file, one at a time, however long they are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from lookahead_cli.batch.content import MOST_BYTES, Unusable
from lookahead_cli.errors import PromptError

SKIPPED_AT_ONCE = 2**16
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How such files begin. In UTF-8 text neither can stand anywhere."""
QUOTE = b'"'
TOO_LONG = f"longer than {MOST_BYTES // 2**20} MiB"


class Line(NamedTuple):
    """One line as it stands in the file, its end included."""

    number: int
    """From 1."""
    content: bytes
    """Empty if it is too long."""
    size: int
    quotes: int = 0
    """Quotation marks in a line that is too long: all that a reader of CSV needs to know of it."""

    @property
    def is_too_long(self) -> bool:
        return self.size > len(self.content)


class Lines(Iterator[Line]):
    """The lines of `stream`, a file called `name`. Raises PromptError if it is UTF-16, OSError as `stream` does."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.number = 0
        """Of the last line that was read."""
        self.bytes_read = 0

    def __next__(self) -> Line:
        content = self._stream.readline(MOST_BYTES + 1)
        if not content:
            raise StopIteration
        self.number += 1
        self.bytes_read += len(content)
        if self.number == 1:
            if content.startswith(UTF_16):
                raise PromptError(f"{self._name} is UTF-16 text: convert it to UTF-8")
            content = content.removeprefix(codecs.BOM_UTF8)
        if len(content) > MOST_BYTES and not content.endswith(b"\n"):
            return self._skip(content)
        return Line(self.number, content, len(content))

    def _skip(self, piece: bytes) -> Line:
        """Read to the end of a line that begins with `piece`, and keep none of it."""
        size, quotes = len(piece), piece.count(QUOTE)
        while not piece.endswith(b"\n") and (piece := self._stream.readline(SKIPPED_AT_ONCE)):
            size += len(piece)
            quotes += piece.count(QUOTE)
            self.bytes_read += len(piece)
        return Line(self.number, b"", size, quotes)


def text_of(line: Line) -> str:
    """A line's text, without its end; a carriage return elsewhere is part of it.

    Raises:
        Unusable: it is too long or no text.
    """
    return decoded(line).removesuffix("\n").removesuffix("\r")


def decoded(line: Line) -> str:
    """A line's text, with its end.

    Raises:
        Unusable: it is too long or no text.
    """
    if line.is_too_long:
        raise Unusable(f"the line is {TOO_LONG}")
    if b"\0" in line.content:
        raise Unusable("the line holds a NUL byte: this is no text")
    try:
        return line.content.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.object[error.start]
        raise Unusable(f"not UTF-8 text (byte {error.start + 1} of the line is 0x{wrong:02x})") from None


def without_blank(lines: Lines) -> Iterator[Line]:
    """The lines that hold more than white space."""
    return (line for line in lines if line.is_too_long or line.content.strip())
