"""Turning what libraries raise when the machine gives out into one sentence each."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from lookahead_cli.errors import ResourceError

# Libraries written in Rust report operating system errors as text only, so the text has to be looked at too.
_FULL_DISK_TEXTS = ("no space left on device", "disk quota exceeded", "os error 28", "os error 122")
_TOO_LARGE_TEXTS = ("file too large", "os error 27")
_EXCEPTION_NAME = re.compile(r"\b\w+(Error|Exception): ")
_OUT_OF_MEMORY_TEXTS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
MOST_SAID = 300
"""Characters of what a library says that are passed on."""
_ONEDNN_WITHOUT_MEMORY = "could not create a primitive"
"""All that oneDNN says when it finds no memory for a product. What it cannot compute it complains about at greater
length, that of "a primitive descriptor"."""


def disk_failure(error: BaseException, failed: str, variable: str = "LOOKAHEAD_CACHE") -> ResourceError | None:
    """The ResourceError for a full, read-only or forbidden disk if that is behind `error`, else None.

    `failed` begins the sentence: what could not be done, and where. `variable` is the environment variable that moves
    the folder concerned.
    """
    for cause in _causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        text = str(cause).lower()
        if number in (errno.ENOSPC, errno.EDQUOT) or any(part in text for part in _FULL_DISK_TEXTS):
            return ResourceError(f"{failed}: the disk is full; make room, or set {variable} to another disk.")
        if number == errno.EFBIG or any(part in text for part in _TOO_LARGE_TEXTS):
            return ResourceError(
                f"{failed}: the disk takes no file of that size; set {variable} to a folder on another disk."
            )
        if number in (errno.EACCES, errno.EPERM, errno.EROFS):
            return ResourceError(f"{failed}: it is not writable; set {variable} to a folder you may write to.")
        if number in (errno.ENOTDIR, errno.EEXIST):
            return ResourceError(f"{failed}: a file stands where a folder is needed; set {variable} to a folder.")
    return None


def memory_failure(error: BaseException, failed: str, advice: str) -> ResourceError | None:
    """The ResourceError for memory that ran out if that is behind `error`, else None."""
    for cause in _causes(error):
        if isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError":
            return ResourceError(f"{failed}: there is not enough memory; {advice}.")
        number, text = cause.errno if isinstance(cause, OSError) else None, str(cause).lower()
        said = text == _ONEDNN_WITHOUT_MEMORY or any(part in text for part in _OUT_OF_MEMORY_TEXTS)
        if number == errno.ENOMEM or said:
            return ResourceError(f"{failed}: there is not enough memory; {advice}.")
    return None


def first_line(error: BaseException) -> str:
    """The first line of what `error` says, without a closing full stop: short enough to stand inside a sentence.

    A first line that ends in a colon takes the next one along; the names of exception classes are left out.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    said = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    said = _EXCEPTION_NAME.sub("", said).rstrip(".:")
    return said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error`, and every exception that led to it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
