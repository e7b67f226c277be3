"""Reads a trace, as far as it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pydantic import ValidationError

from lookahead_cli.decoding.events import Event, PrefillEvent, StepEvent
from lookahead_cli.errors import TraceError
from lookahead_cli.layers import shortened, shown
from lookahead_cli.profile import SECTIONS, Settings
from lookahead_cli.render import CutShort
from lookahead_cli.trace import VERSION
from lookahead_cli.trace.lines import LINES, AnyLine, Begin, End, Prefill, Step


@dataclass
class Trace:
    """A generation as it was recorded."""

    begin: Begin
    settings: Settings
    prefill: PrefillEvent | None = None
    steps: list[StepEvent] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    """What each token in it reads as by itself."""
    end: End | None = None
    torn: int | None = None
    """The number of a last line that breaks off."""

    @property
    def events(self) -> Iterator[Event]:
        """From the first to the last that was recorded."""
        if self.prefill is not None:
            yield self.prefill
        yield from self.steps

    @property
    def has_ended(self) -> bool:
        """Whether the generation came to an end of its own."""
        return bool(self.steps) and self.steps[-1].finish_reason is not None

    @property
    def cut_short(self) -> CutShort | None:
        """Why it did not: a trace that breaks off was interrupted, by whatever it was."""
        if self.has_ended:
            return None
        return "failed" if self.end is not None and self.end.finish_reason == "failed" else "interrupted"

    @property
    def note(self) -> str | None:
        """What its user should know about how much of the generation is in it."""
        if self.torn is not None:
            return f"the trace breaks off in the middle of line {self.torn}: this is all up to there"
        if self.end is None and not self.has_ended:
            return "the trace has no end: the program that wrote it was killed, or is still writing"
        return None

    def add(self, line: AnyLine) -> None:
        """Take in the next line. Raises ValueError if it does not belong there."""
        if self.end is not None or (self.has_ended and not isinstance(line, End)):
            raise ValueError("it comes after the end")
        if isinstance(line, Begin):
            raise ValueError("another trace begins")
        if isinstance(line, Prefill):
            if self.prefill is not None:
                raise ValueError("the prompt was read already")
            self.prefill = line.as_event
        elif isinstance(line, Step):
            if self.prefill is None:
                raise ValueError("a step comes before the prompt was read")
            self.steps.append(line.as_event)
            self.labels |= zip(line.draft.tokens, line.draft.labels, strict=True)
            self.labels |= zip(line.token_ids, line.labels, strict=True)
        else:
            self.end = line


def read_trace(file: BinaryIO, name: str) -> Trace:
    """The trace in a file called `name`. A last line that breaks off is left out.

    Raises:
        OSError: it cannot be read.
        TraceError: it is no trace, one of a newer program, or a damaged one.
    """
    if (start := file.read(1)) != b"{":
        raise TraceError(f"{name} is {'no trace' if start else 'empty'}: give a file that generate --trace has written")
    first, *lines = (start + file.read()).splitlines(keepends=True)
    trace = begun(first, name)
    for number, raw in enumerate(lines, start=2):
        try:
            trace.add(LINES.validate_json(raw))
        except ValueError as error:
            if number == 1 + len(lines) and not raw.endswith(b"\n"):
                trace.torn = number
                break
            raise TraceError(f"{name}: line {number} is damaged ({reason(error)}); record the trace again") from None
    return trace


def begun(first: bytes, name: str) -> Trace:
    """The trace that a first line begins."""
    try:
        content = json.loads(first)
        version = content["trace"] if content["event"] == "begin" else None
    except (KeyError, TypeError, ValueError, RecursionError):
        version = None
    if not isinstance(version, int):
        raise TraceError(f"{name} is no trace: give a file that generate --trace has written")
    if version > VERSION:
        raise TraceError(
            f"{name} is a trace of version {shown(version)}, written by lookahead "
            f"{shortened(str(content.get('lookahead')))}; this program reads version {VERSION}: update it"
        )
    try:
        begin = Begin.model_validate_json(first)
        settings = Settings.model_validate(known_keys(begin.settings))
    except ValueError as error:
        raise TraceError(f"{name}: line 1 is damaged ({reason(error)}); record the trace again") from None
    return Trace(begin, settings, labels={begin.prompt_token_ids[-1]: begin.pending})


def known_keys(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that other versions of the program have and this one has not."""
    return {
        name: {key: value for key, value in table.items() if key in SECTIONS[name].model_fields}
        for name, table in settings.items()
        if name in SECTIONS and isinstance(table, dict)
    }


def reason(error: ValueError) -> str:
    """What is wrong with a line, in a few words."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return f"{place}: {first['msg']}" if place else first["msg"]
