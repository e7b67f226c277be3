"""The file of a contest: a header, then a line for each run; and going on where an interruption has left it.

All runs of a prompt are written at once, so whatever ends the program leaves at most one of these groups incomplete.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import TypeAdapter, ValidationError

from lookahead_cli import __version__
from lookahead_cli.bench.contest import Run
from lookahead_cli.bench.entries import Entry
from lookahead_cli.bench.prompts import BenchPrompt
from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.layers import shown
from lookahead_cli.line_file import append
from lookahead_cli.profile import Settings
from lookahead_cli.resuming import differences, told

RUN = TypeAdapter(Run)


def header_of(
    settings: Settings, entries: Sequence[Entry], prompts: Sequence[BenchPrompt], *, rounds: int, fresh: bool
) -> dict[str, Any]:
    """What a contest is: runs may be added to a file only if all of this is the same."""
    return {
        "version": __version__,
        "contestants": [entry.name for entry in entries],
        "prompts": {"number": len(prompts), "checksum": checksum(prompts)},
        "rounds": rounds,
        "fresh": fresh,
        "settings": settings.model_dump(mode="json", exclude={"display"}),
    }


def machine_of(settled: Settings) -> dict[str, Any]:
    """What "auto" has become, which another machine may answer in another way: times can be compared only if it is the
    same. Known once the model is loaded; a header takes it as `machine`."""
    return settled.model.model_dump(mode="json", include={"runner", "dtype", "device", "threads", "context_length"})


def checksum(prompts: Sequence[BenchPrompt]) -> str:
    """SHA-256 of the texts and categories, in order."""
    content = json.dumps([(prompt.text, prompt.category) for prompt in prompts])
    return hashlib.sha256(content.encode()).hexdigest()


class Records:
    """A file that takes the runs of a contest. One that was begun for nothing is removed when it is closed."""

    def __init__(self, path: Path, file: BinaryIO, *, is_new: bool) -> None:
        self.path, self.file = path, file
        self.is_new = is_new
        self.header_bytes = 0

    @classmethod
    def begin(cls, path: Path, header: dict[str, Any]) -> Records:
        """A new file with its header.

        Raises:
            ProfileError: it is there already, or cannot be made.
            ResourceError: the disk has no room for it; it is gone again.
        """
        try:
            file = path.open("xb", buffering=0)
        except OSError as error:
            raise ProfileError(f"option --output: {path} cannot be made: {error.strerror or error}") from None
        records = cls(path, file, is_new=True)
        try:
            append(path, file, json.dumps(header).encode() + b"\n")
        except ResourceError:
            records.close()
            raise
        records.header_bytes = file.tell()
        return records

    @staticmethod
    def check(path: Path, header: dict[str, Any]) -> None:
        """Whether a file can go on, found out before a model is loaded. Raises the same as `resume`."""
        with told(path):
            read_runs(path.read_bytes(), header)

    @classmethod
    def resume(cls, path: Path, header: dict[str, Any]) -> tuple[Records, list[Run]]:
        """A file that goes on, and the runs in it. A last group that is not whole is taken out of it.

        Raises:
            ProfileError: it cannot be read, is of another contest, or damaged.
        """
        with told(path):
            content = path.read_bytes()
            runs, length = read_runs(content, header)
            file = path.open("r+b", buffering=0)
            file.truncate(length)
            file.seek(length)
        return cls(path, file, is_new=False), runs

    def add(self, runs: Sequence[Run]) -> None:
        """Write all runs of a prompt, at once.

        Raises:
            ResourceError: they cannot be written; what was there before is whole.
        """
        append(self.path, self.file, b"".join(RUN.dump_json(run) + b"\n" for run in runs))

    def close(self) -> None:
        is_empty = self.file.tell() == self.header_bytes
        self.file.close()
        if self.is_new and is_empty:
            self.path.unlink(missing_ok=True)


def read_runs(content: bytes, header: dict[str, Any]) -> tuple[list[Run], int]:
    """The runs in a file of the contest that `header` describes, and up to which byte whole groups reach.

    Raises:
        ValueError: it is another contest's, or damaged; the message goes on after the name of the file.
    """
    first, *lines = content.split(b"\n")[:-1] or [b""]
    compare_headers(first, header)
    size = len(header["contestants"])
    groups = [lines[start : start + size] for start in range(0, len(lines), size)]
    runs: list[Run] = []
    length, done = len(first) + 1, set()
    for number, group in enumerate(groups):
        try:
            found = read_group(group, header)
            if (found[0].round, found[0].prompt) in done:
                raise ValueError("runs that are there already")
        except ValueError as error:
            if number == len(groups) - 1:  # what an interruption has left of it
                break
            reason = "" if isinstance(error, ValidationError) else f" ({error})"
            raise ValueError(
                f"is damaged in lines {number * size + 2} to {number * size + 1 + size}{reason}: take them out"
            ) from None
        done.add((found[0].round, found[0].prompt))
        runs += found
        length += sum(len(line) + 1 for line in group)
    return runs, length


def read_group(lines: Sequence[bytes], header: dict[str, Any]) -> list[Run]:
    """The runs of one prompt. Raises ValueError if they are not all there."""
    runs = [RUN.validate_json(line) for line in lines]
    if [run.contestant for run in runs] != header["contestants"]:
        raise ValueError("not one run of each contestant")
    if len({(run.round, run.prompt) for run in runs}) > 1:
        raise ValueError("runs of different prompts")
    if not (0 <= runs[0].round < header["rounds"] and 0 <= runs[0].prompt < header["prompts"]["number"]):
        raise ValueError("no such prompt or round")
    return runs


def compare_headers(line: bytes, wanted: dict[str, Any]) -> None:
    """Raise ValueError if the first line of a file is not the header of the same contest, as far as `wanted` says."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not wanted.keys() <= found.keys():
        raise ValueError("does not begin like the file of a contest: give another name")
    for key, was, now in differences({key: found[key] for key in wanted}, wanted):
        if key == "prompts.checksum":
            raise ValueError("was measured with other prompts: give the same, or another name for the output")
        raise ValueError(
            f"was measured with {key} = {shown(was)}, and now it is {shown(now)}: ask for the same, or give another "
            "name for the output"
        )
