"""Checksums of large files, remembered so that a later start need not read gigabytes again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lookahead_cli.models.index import add_to_index, read_index
from lookahead_cli.models.progress import ByteShare, Progress, silent

_BLOCK = 1 << 20  # bytes read at a time: large enough that Python's loop costs nothing beside the hashing


def sha256(path: Path, progress: Progress = silent, activity: str = "") -> str:
    """The SHA-256 of the file at `path` in hexadecimal, `progress` told how far it is. Raises OSError."""
    digest = hashlib.sha256()
    size, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            progress(activity or f"checking {path.name}", ByteShare(done, size) if size else None)
    return digest.hexdigest()


def remembered_sha256(path: Path, index: Path, progress: Progress = silent) -> str:
    """Like `sha256`, but looked up in the JSON file `index` while path, size and modification time are unchanged.

    The index only saves time: if it cannot be read or written, the checksum is computed again. Raises OSError when
    `path` itself cannot be read.
    """
    known = known_sha256(path, index)
    if known is not None:
        return known
    resolved = path.resolve()
    status = resolved.stat()
    fingerprint = [status.st_size, status.st_mtime_ns]
    digest = sha256(resolved, progress)
    if [(after := resolved.stat()).st_size, after.st_mtime_ns] == fingerprint:
        add_to_index(index, str(resolved), [*fingerprint, digest])
    return digest


def known_sha256(path: Path, index: Path) -> str | None:
    """What `remembered_sha256` remembers; None if it would have to read the file. Raises OSError like it."""
    resolved = path.resolve()
    status = resolved.stat()
    match read_index(index).get(str(resolved)):
        case [size, modified, str(digest)] if (size, modified) == (status.st_size, status.st_mtime_ns):
            return digest
    return None
