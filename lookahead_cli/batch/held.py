"""The file of results that are finished before their turn: on disk at once, in memory only where each one is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from lookahead_cli.batch.result_lines import Digest
from lookahead_cli.line_file import append, not_written
from lookahead_cli.models.whole_file import written_whole

MOST_DEAD_BYTES = 1 << 24
"""Of lines that have been taken out. Below this the file is not worth writing anew."""

Place = tuple[int, int]
"""Where a line begins, and its length."""


class Held:
    """Lines by id. One that was put twice is the later one."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """`file` is `path`, opened to be read and written without a buffer."""
        self.path, self.file = path, file
        self.places: dict[Digest, Place] = {}
        self.live_bytes = 0

    def know(self, digest: Digest, place: Place) -> None:
        """The file has this line."""
        self.forget(digest)
        self.places[digest] = place
        self.live_bytes += place[1]

    def put(self, digest: Digest, line: bytes) -> None:
        """Raises ResourceError if it cannot be written."""
        self.know(digest, (append(self.path, self.file, line), len(line)))

    def line(self, digest: Digest) -> bytes:
        return read_at(self.file, *self.places[digest])

    def forget(self, digest: Digest) -> None:
        """Its line is written elsewhere, or of no use. It may stay in the file: there, what is elsewhere wins."""
        _, length = self.places.pop(digest, (0, 0))
        self.live_bytes -= length

    @property
    def is_mostly_dead(self) -> bool:
        """Whether it is worth writing anew."""
        dead_bytes = self.file.seek(0, os.SEEK_END) - self.live_bytes
        return dead_bytes > max(MOST_DEAD_BYTES, self.live_bytes)

    def rewrite(self, more: Iterable[tuple[Digest, bytes]] = ()) -> None:
        """Write the file anew: the lines that are not forgotten, in the order they came, and some more.

        Whatever ends the program leaves the old file or the new one.

        Raises:
            ResourceError: it cannot be written; the old one is as it was.
        """
        places: dict[Digest, Place] = {}
        length = 0
        try:
            with written_whole(self.path) as unfinished:
                with unfinished.open("wb") as file:
                    kept = ((digest, self.line(digest)) for digest in self.places)
                    for lines in (kept, more):
                        for digest, line in lines:
                            file.write(line)
                            places[digest] = length, len(line)
                            length += len(line)
                    file.flush()
                    os.fsync(file.fileno())
                self.file.close()  # Windows puts nothing in the place of an open file
            self.file = self.path.open("r+b", buffering=0)
        except OSError as error:
            raise not_written(self.path, error) from None
        self.places = places
        self.live_bytes = sum(length for _, length in places.values())


def read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    """A part of a file that is opened without a buffer. Raises OSError."""
    file.seek(offset)
    parts = []
    while length and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
