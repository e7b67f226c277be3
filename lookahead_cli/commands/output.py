"""The two outputs of the program, and the file that takes the place of one: encoding, and what happens when they take
no more."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from lookahead_cli.errors import OutputFailed, ProfileError, ReaderGone

Writing = Callable[[], AbstractContextManager[bool]]
"""Entered to write the result, on `sys.stdout` whatever that is by then; says whether it is a file."""
STANDARD_OUTPUT = Path("-")
"""What `--output` calls it."""


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
def writing_output(what: str = "the output") -> Iterator[None]:
    """Say in one sentence that the output could not be written; a reader that has gone ends the program silently."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        raise ReaderGone from None
    except OSError as error:
        discard_output()
        raise OutputFailed(f"{what} could not be written: {error.strerror or error}") from None


def print_object(content: dict[str, Any] | list[Any]) -> None:
    """As JSON. On a terminal nothing but ASCII is sent: no control character gets through."""
    print(json.dumps(content, ensure_ascii=sys.stdout.isatty()), flush=True)


def discard_output() -> None:
    """Python flushes stdout once more at exit: let that go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def opened_result(path: Path | None, append: bool = False) -> Iterator[Writing]:
    """Where the result goes.

    A file is opened at once, so that what is wrong with it is told before a model is loaded, but what stands in it goes
    only when there is something to take its place. `append` leaves it where it is.

    Raises:
        ProfileError: the file cannot be written.
        OutputFailed: writing, it takes no more.
    """
    if path is None or path == STANDARD_OUTPUT:
        if append:
            raise ProfileError("option --append: it adds to a file; name it with --output FILE")
        yield writing_to_screen
        return
    was_there = os.path.lexists(path)
    try:
        file = path.open("a", encoding="utf-8", errors="surrogateescape", newline="\n")
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise ProfileError(f"option --output: {path} cannot be written: {obstacle(path, error)}") from None
    begun = False

    @contextmanager
    def writing() -> Iterator[bool]:
        nonlocal begun
        begun = True
        with redirect_stdout(file), writing_output(str(path)):
            if not append and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                file.truncate(0)
            yield not file.isatty()

    with file:
        try:
            yield writing
        finally:
            if not (begun or was_there):
                with suppress(OSError):
                    path.unlink()


@contextmanager
def writing_to_screen() -> Iterator[bool]:
    """The same where no file is named."""
    with writing_output():
        yield False


def obstacle(path: Path, error: Exception) -> str:
    """Why a file cannot be opened."""
    if os.path.isdir(path):  # noqa: PTH112 # the other one raises where a name is too long
        return "it is a folder; give the name of a file"
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {path.parent}"
    return getattr(error, "strerror", None) or str(error)
