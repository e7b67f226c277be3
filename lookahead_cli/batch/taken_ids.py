"""Which ids have been given away, in a few bytes each."""

from __future__ import annotations

from lookahead_cli.batch.result_lines import DIGEST_BYTES as DIGEST
from lookahead_cli.batch.result_lines import digest_of

EMPTY = bytes(DIGEST)
FIRST_PLACES = 1024


class TakenIds:
    """A set of texts that can grow but not be listed: a table of digests, a quarter of what a Python set takes."""

    def __init__(self) -> None:
        self._count = 0
        self._table = bytearray(FIRST_PLACES * DIGEST)

    def take(self, name: str) -> bool:
        """Take a name; False if somebody has it."""
        digest: bytes = digest_of(name)
        place = self._find(digest)
        if self._table[place : place + DIGEST] == digest:
            return False
        self._table[place : place + DIGEST] = digest
        self._count += 1
        if 3 * self._count * DIGEST > 2 * len(self._table):  # fuller than two thirds, and looking takes long
            self._grow()
        return True

    def take_free(self, name: str) -> str:
        """Take a name, with a number after it if somebody has it; returns what was taken."""
        free, count = name, 1
        while not self.take(free):
            count += 1
            free = f"{name}#{count}"
        return free

    def _find(self, digest: bytes) -> int:
        """Where it stands, or would have to."""
        table, end = self._table, len(self._table)
        place = int.from_bytes(digest[:8], "little") % (end // DIGEST) * DIGEST
        while (there := table[place : place + DIGEST]) != EMPTY and there != digest:
            place = (place + DIGEST) % end
        return place

    def _grow(self) -> None:
        before, self._table = self._table, bytearray(2 * len(self._table))
        for start in range(0, len(before), DIGEST):
            digest = bytes(before[start : start + DIGEST])
            if digest != EMPTY:
                place = self._find(digest)
                self._table[place : place + DIGEST] = digest
