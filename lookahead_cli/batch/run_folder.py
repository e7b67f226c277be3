"""The folder beside a file of results that lets a run go on where it was ended.

For `FILE` it is `FILE.run`: `settings.json`, what the run was started with; `held.jsonl`, results whose turn has not
come; `lock`, held by the system for as long as the process lives. Whoever does not want to go on can delete it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import shown
from lookahead_cli.line_file import not_written
from lookahead_cli.models.whole_file import written_whole
from lookahead_cli.resuming import differences, told


class RunFolder:
    """Whatever name the file of results is called by, its folder is the same."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.results = Path(os.path.realpath(file))
        self.path = Path(f"{self.results}.run")
        self.settings = self.path / "settings.json"
        self.held = self.path / "held.jsonl"
        self.lock = self.path / "lock"

    def has_results(self) -> bool:
        return size_of(self.results) > 0 or size_of(self.held) > 0

    def stored_settings(self) -> dict[str, Any] | None:
        """What the run was started with; None if there is no such file.

        Raises:
            ProfileError: it cannot be read.
        """
        with told(self.settings):
            try:
                stored = json.loads(self.settings.read_text(encoding="utf-8"))
            except FileNotFoundError:
                return None
            except (ValueError, RecursionError):
                stored = None
            if not isinstance(stored, dict):
                raise ValueError("is damaged: give another name for the output")
            return stored

    def check(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Whether a run with these settings may write here.

        Raises:
            ProfileError: something would be lost or mixed.
        """
        if self.results.is_dir():
            raise ProfileError(f"option --output: {self.file} is a folder; give the name of a file")
        if not self.has_results():
            return
        if not resume:
            if size_of(self.results) > 0:
                raise ProfileError(
                    f"option --output: {self.file} is there already; give another name, or go on with --resume"
                )
            raise ProfileError(
                f"option --output: {self.held} has results of a run that was ended; go on with --resume, or delete it"
            )
        stored = self.stored_settings()
        if stored is None:
            raise ProfileError(
                f"option --resume: {self.file} cannot be gone on with: {self.settings}, which a run leaves beside it, "
                "is missing; give another name for the output"
            )
        for key, was, now in differences(stored, settings):
            raise ProfileError(
                f"option --resume: {self.file} was begun with {key} = {shown(was)}, and now it is {shown(now)}: "
                "ask for the same, or give another name for the output"
            )

    @contextmanager
    def taken(self, settings: dict[str, Any], *, resume: bool) -> Iterator[None]:
        """Nobody else may write the results meanwhile. The file of results is there, empty if there was none.

        Raises:
            ProfileError: another run has it, it cannot be written, or `check` has something against it.
            ResourceError: there is no room for the settings.
        """
        settings = json.loads(json.dumps(settings))  # a tuple is a list once it has been in a file
        with writable(self.file):
            is_new = not self.path.is_dir()
        if is_new:
            self.check(settings, resume=resume)  # nothing is made for a run that is refused
        with self._locked():
            self.check(settings, resume=resume)
            with writable(self.file):
                self.results.open("ab").close()
            if not self.has_results():
                self._store(settings)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with writable(self.file):
            self.path.mkdir(exist_ok=True)
            lock = FileLock(self.lock)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise ProfileError(
                    f"option --output: {self.file} is being written by another run; wait for it to end, or give "
                    "another name"
                ) from None
        try:
            yield
        finally:
            lock.release()

    def _store(self, settings: dict[str, Any]) -> None:
        try:
            with written_whole(self.settings) as unfinished, unfinished.open("w", encoding="utf-8") as file:
                json.dump(settings, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise not_written(self.settings, error) from None


@contextmanager
def writable(file: Path) -> Iterator[None]:
    """Say in one sentence that `file`, or what has to be beside it, cannot be written."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # a file system without locks
        reason = getattr(error, "strerror", None) or error
        advice = "; make its folder first" if isinstance(error, FileNotFoundError) else ""
        raise ProfileError(f"option --output: {file} cannot be written: {reason}{advice}") from None


def size_of(path: Path) -> int:
    """0 if it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
