"""From the command's arguments to what is read, in order: files, folders, patterns, standard input."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from lookahead_cli.batch.form import FORMATS, Form
from lookahead_cli.batch.source import Source
from lookahead_cli.batch.taken_ids import TakenIds
from lookahead_cli.errors import PromptError

STDIN = "-"


class OutputTest(Protocol):
    """Whether the run itself writes a file. `named`: it was not found in a folder or by a pattern."""

    def __call__(self, path: Path, *, named: bool) -> bool: ...


def never(path: Path, *, named: bool) -> bool:
    return False


def find_sources(arguments: Sequence[str], form: Form, is_output: OutputTest = never) -> list[Source]:
    """What the arguments name, each once, in their order; folders and patterns in the order of names.

    `-` is standard input. A name that exists is taken as it is, even if it could be a pattern. Of a folder those files
    are taken, at any depth, whose name ends as one of `form` does; hidden ones are not. What the run writes is left
    out: it would be read while it grows, for ever, and be other input when the run is gone on with.

    Raises:
        PromptError: something is not there, cannot be read, or is no file.
    """
    sources: dict[str, Source] = {}
    names = TakenIds()
    for argument in arguments:
        for path in _paths(argument, form):
            if path is not None and is_output(path, named=path == Path(argument)):
                continue
            real = STDIN if path is None else os.path.realpath(path)
            if real not in sources:
                # A file may be called "stdin", and two ways may lead through a link.
                name = names.take_free("stdin" if path is None else shown_path(path))
                sources[real] = Source(name, path, None if path is None else _size(path))
    if arguments and not sources:
        raise PromptError("there is no input: all that is named is written by the run itself; write it elsewhere")
    return list(sources.values())


def _paths(argument: str, form: Form) -> Iterator[Path | None]:
    """What one argument names; None: standard input."""
    if argument == STDIN:
        yield None
        return
    if not argument:
        raise PromptError("the name of an input file is empty: give a file, a folder, a pattern, or - for stdin")
    path = Path(argument)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a NUL in a name is a ValueError
        yield from _matches(argument)
    except OSError as error:
        raise PromptError(f"{shown_path(path)} cannot be read: {error.strerror or error}") from None
    else:
        yield from _files_in(path, form) if stat.S_ISDIR(mode) else [path]


def _matches(pattern: str) -> Iterator[Path]:
    if not glob.has_magic(pattern):
        raise PromptError(f"{shown_path(Path(pattern))}: no such file or folder; check its name")
    # The module and not Path.glob: as in a shell, hidden files are left out and a pattern may begin at the root.
    paths = [path for name in sorted(glob.glob(pattern, recursive=True)) if not (path := Path(name)).is_dir()]  # noqa: PTH207
    if not paths:
        raise PromptError(f'no file matches "{pattern}": check the folder and the pattern')
    yield from paths


def _files_in(folder: Path, form: Form) -> Iterator[Path]:
    """Files of a known kind in a folder and those below it, which links are not followed into."""

    def refuse(error: OSError) -> None:
        raise PromptError(f"folder {error.filename} cannot be read: {error.strerror or error}") from None

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(place) / name for name in names if not name.startswith(".") and form.takes(name)]
        found += [path for path in paths if path.is_file()]
    if not found:
        known = [suffix for suffix in FORMATS if form.takes(f"a{suffix}")]
        raise PromptError(
            f"{shown_path(folder)}: no file in this folder ends in {', '.join(known)}; name files of other kinds "
            "themselves, or by a pattern"
        )
    yield from sorted(found)


def _size(path: Path) -> int | None:
    """Bytes of a file, None for a pipe.

    Raises:
        PromptError: it cannot be read, or is neither.
    """
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode):  # opening it would wait for somebody who writes
            return None
        if not stat.S_ISREG(status.st_mode):
            raise PromptError(f"{shown_path(path)} is a device or a socket: give a file, a pipe, or - for stdin")
        with path.open("rb"):
            return status.st_size
    except OSError as error:
        raise PromptError(f"{shown_path(path)} cannot be read: {error.strerror or error}") from None


def shown_path(path: Path) -> str:
    """A path as it was given, tidied up; what is not UTF-8 in it becomes question marks."""
    name = os.path.normpath(path).replace(os.sep, "/")
    return name.encode("utf-8", "replace").decode()
