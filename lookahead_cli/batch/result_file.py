"""The file of results, and those that are held until their turn: what an earlier run left, and what is added."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lookahead_cli.batch.held import Held
from lookahead_cli.batch.result_lines import Digest, Known, known_from
from lookahead_cli.batch.run_folder import writable
from lookahead_cli.line_file import append, cut, not_written, whole_lines
from lookahead_cli.resuming import told


class ResultFile:
    """Where a line is in both, in the file and held, the file is right."""

    held_in_memory = 0

    def __init__(self, path: Path, held_path: Path, *, retry_failed: bool = False) -> None:
        """Open both files, make what is missing, and find out what is in them. Torn last lines are taken out.

        `retry_failed`: failures are taken out too, and what comes after the first of them is held, so that it can be
        written in its turn again.

        Raises:
            ProfileError: a file cannot be used, or is damaged.
            ResourceError: what is to be held finds no room.
        """
        self.path = path
        with writable(path):
            self.file = open_both_ways(path)
            self.held = Held(held_path, open_both_ways(held_path))
        with told(path):
            self.written, failures = read_written(self.file)
        self.failed_before = 0 if retry_failed else len(failures)
        """Failures among what an earlier run has left."""
        with told(held_path):
            self._read_held(retry_failed=retry_failed)
        if retry_failed and failures:
            self._hold_from(failures[0])

    def _read_held(self, *, retry_failed: bool) -> None:
        for line in whole_lines(self.held.file, known_from):
            digest = line.content.digest
            if digest in self.written or (line.content.is_failure and retry_failed):
                self.held.forget(digest)
            else:
                self.held.know(digest, (line.offset, len(line.raw)))
                self.failed_before += line.content.is_failure

    def _hold_from(self, offset: int) -> None:
        """Move all results from there on to those held. Ended at any moment, nothing is lost: it is copied first."""
        self.held.rewrite(self._results_from(offset))
        try:
            cut(self.file, offset)
        except OSError as error:
            raise not_written(self.path, error) from None
        self.written = {digest: place for digest, place in self.written.items() if place < offset}

    def _results_from(self, offset: int) -> Iterator[tuple[Digest, bytes]]:
        for line in whole_lines(self.file, known_from):
            if line.offset >= offset and not line.content.is_failure:
                yield line.content.digest, line.raw

    def is_written(self, digest: Digest) -> bool:
        """Whether an earlier run has written it to the file."""
        return digest in self.written

    def is_held(self, digest: Digest) -> bool:
        return digest in self.held.places

    def line(self, digest: Digest) -> bytes:
        """The line of something that is written or held."""
        if self.is_held(digest):
            return self.held.line(digest)
        with self.path.open("rb") as file:
            file.seek(self.written[digest])
            return file.readline()

    def add(self, line: bytes) -> None:
        """Raises ResourceError if it cannot be written."""
        append(self.path, self.file, line)

    def hold(self, digest: Digest, line: bytes) -> None:
        """Keep it, safe from whatever ends the program. Raises ResourceError if it cannot be written."""
        self.held.put(digest, line)

    def release(self, digest: Digest) -> None:
        """Add what was held. Raises ResourceError if it cannot be written."""
        self.add(self.held.line(digest))
        self.held.forget(digest)

    def tidy(self) -> None:
        """Keep what is held from growing with all that ever was. Raises ResourceError."""
        if self.held.is_mostly_dead:
            self._sync()
            self.held.rewrite()

    def finish(self) -> None:
        """Add what is still held: results of an earlier run with more input than this one had. Then nothing is.

        Raises:
            ResourceError: it cannot be written.
        """
        for digest in list(self.held.places):
            self.release(digest)
        self._sync()
        self.held.file.close()
        self.held.path.unlink(missing_ok=True)

    def _sync(self) -> None:
        """What will be there after a power cut must not be less than what is about to be thrown away elsewhere."""
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise not_written(self.path, error) from None

    def close(self) -> None:
        self.file.close()
        self.held.file.close()


def open_both_ways(path: Path) -> BinaryIO:
    """To be read and written, without a buffer; made if it is missing, not emptied if it is there. Raises OSError."""
    path.touch()
    return path.open("r+b", buffering=0)


def read_written(file: BinaryIO) -> tuple[dict[Digest, int], list[int]]:
    """Where the line of each id begins, and where those of failures do, in order.

    Raises:
        ValueError: it is damaged; the message goes on after the name of the file.
        OSError: it cannot be read.
    """
    written: dict[Digest, int] = {}
    failures: list[int] = []
    for line in whole_lines(file, known_from):
        known: Known = line.content
        if known.digest in written:
            raise ValueError(f"is damaged in line {line.number} (an id for the second time): take it out")
        written[known.digest] = line.offset
        if known.is_failure:
            failures.append(line.offset)
    return written, failures
