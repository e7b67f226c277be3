"""Writes a trace while the steps come."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from lookahead_cli import __version__
from lookahead_cli.decoding.events import Event, PrefillEvent
from lookahead_cli.errors import Interrupted, ProfileError, ReaderGone, ResourceError
from lookahead_cli.line_file import not_written, write_all
from lookahead_cli.trace.lines import Begin, End, Ending, Line, Prefill, Step

if TYPE_CHECKING:
    from lookahead_cli.profile import Settings
    from lookahead_cli.text.token_labels import Label

START = b'{"event":"begin","trace":'
"""What the traces that we write begin with."""
INTERRUPTED = (KeyboardInterrupt, Interrupted, ReaderGone, BrokenPipeError)


def open_trace(path: Path) -> TraceFile:
    """Open the file, before anything costly is done; what an old trace holds stays until a new one begins.

    Raises:
        ProfileError: it cannot be written, or holds something that is no trace.
    """
    if path == Path("-"):
        raise ProfileError("option --trace: standard output is for the text; give the name of a file")
    try:
        is_new = not path.exists()
        if path.is_file() and not may_be_replaced(path):
            raise ProfileError(f"option --trace: {path} is there already and is no trace; give another name")
        return TraceFile(path, path.open("ab", buffering=0), is_new)
    except OSError as error:
        raise ProfileError(f"option --trace: {path} cannot be written: {error.strerror or error}") from None


def may_be_replaced(path: Path) -> bool:
    """Whether the file is empty or a trace."""
    with path.open("rb") as file:
        return file.read(len(START)) in (b"", START)


class TraceFile:
    """The trace of one generation. Leaving it as a context says how that ended, if it was not at an end of its own."""

    def __init__(self, path: Path, file: BinaryIO, is_new: bool) -> None:
        self.path = path
        self.file = file
        self.is_new = is_new
        self.has_begun = False
        self.takes_more = False
        """Whether another line may follow: it has begun and not ended, and no line was left unfinished."""
        self.label: Label = str

    def begin(self, settings: Settings, prompt: str, prompt_ids: Sequence[int], label: Label) -> None:
        """The first line. Raises ResourceError if it cannot be written, as all that write here do."""
        self.label = label
        if stat.S_ISREG(os.fstat(self.file.fileno()).st_mode):
            self.file.truncate(0)
        self.has_begun = True
        self._write(
            Begin(
                lookahead=__version__,
                model=settings.model.source,
                prompt=prompt,
                prompt_token_ids=list(prompt_ids),
                pending=label(prompt_ids[-1]),
                settings=settings.model_dump(mode="json"),
            )
        )

    def recording(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events, each written before it is handed on."""
        finish_reason: Ending | None = None
        for event in events:
            if isinstance(event, PrefillEvent):
                self._write(Prefill(tokens=event.tokens, seconds=event.seconds))
            else:
                self._write(Step.of(event, self.label))
                finish_reason = event.finish_reason
            yield event
        if finish_reason is not None:
            self._end(finish_reason)

    def _end(self, reason: Ending) -> None:
        self._write(End(finish_reason=reason))
        self.takes_more = False

    def _write(self, line: Line) -> None:
        self.takes_more = False
        try:
            write_all(self.file, line.model_dump_json().encode() + b"\n")
        except OSError as error:
            raise not_written(self.path, error) from None
        self.takes_more = True

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.takes_more:
            with suppress(ResourceError):  # a trace without its last line is still one
                self._end("interrupted" if error is None or isinstance(error, INTERRUPTED) else "failed")
        self.file.close()
        if self.is_new and not self.has_begun:
            with suppress(OSError):
                self.path.unlink()
