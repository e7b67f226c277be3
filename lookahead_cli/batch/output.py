"""All that a run leaves behind, behind one door."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookahead_cli.batch.result_file import ResultFile
from lookahead_cli.batch.result_lines import LineForm, digest_of, read_line
from lookahead_cli.batch.result_stream import device_stream, stdout_stream
from lookahead_cli.batch.results import Outcome, Result
from lookahead_cli.batch.run_folder import RunFolder
from lookahead_cli.batch.text_files import ENDING, TextFiles
from lookahead_cli.batch.writing import Ordered, Store, Unordered, Writer
from lookahead_cli.errors import ProfileError

RESULTS = "results.jsonl"
"""In the folder of text files, the lines. No text file can be called that."""

STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Names of what is open already. Whoever has opened it has said where it goes on."""


@dataclass(frozen=True)
class OutputWanted:
    """Where to write what."""

    file: Path | None = None
    """None: to `RESULTS` in the folder, or to standard output if there is no folder either."""
    folder: Path | None = None
    """For a text file of each result."""
    ordered: bool = True
    resume: bool = False
    retry_failed: bool = False
    """Go on, and leave out what failed before. Needs no `resume`."""
    with_tokens: bool = False
    stats: bool = True

    @property
    def lines(self) -> Path | None:
        """The file of results; None: standard output."""
        return self.folder / RESULTS if self.file is None and self.folder is not None else self.file

    @property
    def goes_on(self) -> bool:
        """Whether what an earlier run has left is to be continued."""
        return self.resume or self.retry_failed

    @property
    def run_folder(self) -> RunFolder | None:
        """None where nothing can be gone on with."""
        return None if self.lines is None or is_stream(self.lines) else RunFolder(self.lines)

    def is_own(self, path: Path, *, named: bool) -> bool:
        """Whether the run writes this file, or an interrupted one has written it. A text file that was `named` is read.

        Raises:
            ProfileError: nobody could tell it from what will be written.
        """
        real = Path(os.path.realpath(path))
        run = self.run_folder
        if is_stdout(real) or (run is not None and (real == run.results or run.path in real.parents)):
            return True
        if named or self.folder is None or real.suffix.casefold() != ENDING:
            return False
        if real.parent != Path(os.path.realpath(self.folder)):
            return False
        if run is not None and not run.path.is_dir():
            raise ProfileError(
                f"option --out-dir: {path} is there already and would be taken for the text of a result; give another "
                "folder"
            )
        return True

    def check(self) -> None:
        """Raise ProfileError if this cannot be done together."""
        if self.goes_on and self.run_folder is None:
            flag = "--resume" if self.resume else "--retry-failed"
            reason = "name a file with --output" if self.lines is None else f"{self.lines} is not a file; name one"
            raise ProfileError(f"option {flag}: there is nothing to go on with; {reason}")
        if self.file is None or self.folder is None:
            return
        among_texts = os.path.realpath(self.file.parent) == os.path.realpath(self.folder)
        if among_texts and self.file.name.casefold().endswith(ENDING):
            raise ProfileError(
                f"option --output: {self.file} could be the text file of a result; give it another ending than {ENDING}"
            )


class Output:
    """Takes the outcome of each record."""

    def __init__(self, store: Store, writer: Writer, texts: TextFiles | None) -> None:
        self.store, self.writer, self.texts = store, writer, texts

    @property
    def held(self) -> int:
        """Results in memory whose turn has not come. Always 0 where a file takes them."""
        return self.store.held_in_memory

    @property
    def failed_before(self) -> int:
        """Failures that an earlier run has left, and that are left as they are."""
        return self.store.failed_before

    def expect(self, number: int) -> None:
        """A record was read. To be called for each one, in the order of the input, before anything else about it."""
        self.writer.expect(number)

    def known(self, id: str) -> bool:
        """Whether an earlier run has left an outcome of this record: then `skip` it."""
        digest = digest_of(id)
        return self.store.is_written(digest) or self.store.is_held(digest)

    def skip(self, number: int, id: str) -> None:
        """Let the outcome that is known have its turn. Raises like `write`."""
        if self.texts is not None and not self.texts.has(id):
            text = read_line(self.store.line(digest_of(id))).get("text")
            if text is not None:
                self.texts.write(id, text)
        self.writer.skip(number, id)

    def write(self, outcome: Outcome) -> None:
        """Take an outcome; when this returns, it is safe from whatever ends the program.

        Raises:
            ResourceError: it cannot be written. Nothing more should be.
            OSError: standard output takes no more; BrokenPipeError: nobody reads it, or the pipe.
        """
        if self.texts is not None and isinstance(outcome, Result):
            self.texts.write(outcome.id, outcome.text)  # first: what has its line is done in all
        self.writer.write(outcome)

    def finish(self) -> None:
        """All input was read, and of everything expected there is an outcome. Raises like `write`."""
        self.writer.finish()


def stored_settings(wanted: OutputWanted) -> dict[str, Any] | None:
    """The settings of the run that is to be gone on with, so that what it drew can be taken over; None: there is none.

    Raises:
        ProfileError: they cannot be read.
    """
    folder = wanted.run_folder
    if folder is None or not wanted.goes_on or not folder.has_results():
        return None
    return folder.stored_settings()


@contextmanager
def open_output(wanted: OutputWanted, settings: dict[str, Any]) -> Iterator[Output]:
    """Where outcomes go; it is theirs alone until the end. Found out here, before a model is loaded: can it be written?

    `settings` is all that has a say in what a result is; a run can be gone on with only if it is the same. How lines
    look is added to it, as `output`.

    Raises:
        ProfileError: it cannot be written, something would be lost, or an earlier run was another.
        ResourceError: the disk has no room.
    """
    wanted.check()
    texts = None if wanted.folder is None else TextFiles(wanted.folder)
    with opened(wanted, {**settings, "output": looks(wanted)}) as store:
        on_terminal = wanted.lines is None and sys.stdout.isatty()
        form = LineForm(wanted.with_tokens, wanted.stats, ascii_only=on_terminal)
        yield Output(store, Ordered(store, form) if wanted.ordered else Unordered(store, form), texts)


@contextmanager
def opened(wanted: OutputWanted, settings: dict[str, Any]) -> Iterator[Store]:
    """The place for the lines. Raises like `open_output`."""
    folder = wanted.run_folder
    if folder is not None:
        with (
            folder.taken(settings, resume=wanted.goes_on),
            closing(ResultFile(folder.file, folder.held, retry_failed=wanted.retry_failed)) as store,
        ):
            yield store
    else:
        with closing(stdout_stream() if wanted.lines is None else device_stream(wanted.lines)) as stream:
            yield stream


def looks(wanted: OutputWanted) -> dict[str, Any]:
    return {"ordered": wanted.ordered, "with_tokens": wanted.with_tokens, "stats": wanted.stats}


def is_stdout(path: Path) -> bool:
    """Whether standard output goes to this file."""
    try:
        status = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, path.stat())
    except (OSError, ValueError):  # none of the system's, or no such file
        return False


def is_stream(path: Path) -> bool:
    """Whether what is written there cannot be read back: a device, a pipe, or what is open already."""
    if str(path).startswith(STREAMS):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # opening it will tell
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
