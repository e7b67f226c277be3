"""Reading prompts: everything the sources hold, one record at a time, good or bad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from lookahead_cli.batch.content import MOST_BYTES, Content, Unusable, usable_prompt
from lookahead_cli.batch.csv_rows import read_columns, read_rows
from lookahead_cli.batch.form import Form, Format
from lookahead_cli.batch.json_lines import parse_object
from lookahead_cli.batch.lines import TOO_LONG, Line, Lines, text_of, without_blank
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.source import Source
from lookahead_cli.batch.taken_ids import TakenIds
from lookahead_cli.batch.template import LINE
from lookahead_cli.errors import ProfileError, PromptError, ResourceError
from lookahead_cli.layers import shortened
from lookahead_cli.text.prompt import decode_prompt

Found = tuple[int, Content | Unusable]
"""What a line says, and its number."""


def read_records(sources: Sequence[Source], form: Form) -> Iterator[Record | BadRecord]:
    """Everything the sources hold, in order, as it is asked for.

    What can be known beforehand is checked at once, before the first record: that files can be read, are of the form
    they should be, and have the columns that are needed. Of standard input and pipes nothing can.

    Raises:
        ProfileError: an option asks for what the input does not have.
        PromptError: a source as a whole is not what it should be.
        ResourceError: reading fails.
    """
    formats = [form.of(source) for source in sources]
    if form.column is not None and "csv" not in formats:
        raise ProfileError(
            "option --column: only CSV has columns, and no input is CSV; leave it out, or give --format csv"
        )
    for source, format_ in zip(sources, formats, strict=True):
        if format_ == "text":
            form.check_template_for_text()
        if source.size is not None:
            _check_beginning(source, format_, form)
    return _records(sources, formats, form)


def _check_beginning(source: Source, format_: Format | None, form: Form) -> None:
    with _opened(source) as stream:
        lines = Lines(stream, source.name)
        if format_ == "csv":
            read_columns(read_rows(lines, source.delimiter), source.name, form)
        elif not form.one_per_file:
            next(lines, None)


def _records(sources: Sequence[Source], formats: Sequence[Format | None], form: Form) -> Iterator[Record | BadRecord]:
    """Records with their numbers and ids; every id is given once."""
    taken = TakenIds()
    number = 0
    total = _total_size(sources)
    behind = 0
    for source, format_ in zip(sources, formats, strict=True):
        with _opened(source) as stream:
            lines = Lines(stream, source.name)
            found = _whole(lines, stream, form) if form.one_per_file else _found(lines, source, format_, form)
            for line, content in found:
                own = source.name if form.one_per_file else f"{source.name}:{line}"
                place = source.name if form.one_per_file else f"{source.name}, line {line}"
                fraction = None if total is None else min(1.0, (behind + lines.bytes_read) / max(total, 1))
                yield _record(number, own, place, line, content, fraction, taken)
                number += 1
        behind += source.size or 0


def _record(
    number: int,
    own: str,
    place: str,
    line: int,
    content: Content | Unusable,
    fraction: float | None,
    taken: TakenIds,
) -> Record | BadRecord:
    """What was found, with an id nobody else has: the one it brings, or `own`."""
    if isinstance(content, Content):
        wanted = own if content.id is None else content.id
        if taken.take(wanted):
            prompt, messages, system, overrides = content.prompt, content.messages, content.system, content.overrides
            return Record(number, wanted, place, prompt, messages, system, overrides, fraction, line)
        content = Unusable(f'duplicate id "{shortened(wanted)}"')
    reason = str(content).encode("utf-8", "replace").decode()  # it may repeat half a character
    id = content.id if content.id is not None and taken.take(content.id) else taken.take_free(own)
    return BadRecord(number, id, place, line, reason, fraction)


def _found(lines: Lines, source: Source, format_: Format | None, form: Form) -> Iterator[Found]:
    """What every line or row says."""
    if format_ == "csv":
        yield from _rows(lines, source, form)
        return
    for line in without_blank(lines):
        if format_ is None and not line.is_too_long:
            format_ = _begun(line, form)
        try:
            text = text_of(line)
            if format_ == "jsonl":
                yield line.number, parse_object(text, form.template)
            elif text.strip():  # white space that only Unicode knows
                yield line.number, _asked(text, form)
        except Unusable as error:
            yield line.number, error


def _begun(first: Line, form: Form) -> Format:
    """The format of what begins so."""
    if first.content.lstrip().startswith(b"{"):
        return "jsonl"
    form.check_template_for_text()
    return "text"


def _rows(lines: Lines, source: Source, form: Form) -> Iterator[Found]:
    rows = read_rows(lines, source.delimiter)
    columns = read_columns(rows, source.name, form)
    for line, row in rows:
        assert columns is not None, "a row follows its header"
        try:
            yield line, row if isinstance(row, Unusable) else columns.content(row, form)
        except Unusable as error:
            yield line, error


def _whole(lines: Lines, stream: BinaryIO, form: Form) -> Iterator[Found]:
    """A file as one prompt."""
    content = stream.read(MOST_BYTES + 1)
    lines.bytes_read = len(content)
    try:
        if len(content) > MOST_BYTES:
            raise Unusable(f"the file is {TOO_LONG}")
        found: Content | Unusable = _asked(decode_prompt(content, "the file"), form)
    except (Unusable, PromptError) as error:
        found = Unusable(str(error))
    yield 1, found


def _asked(text: str, form: Form) -> Content:
    usable_prompt(text)
    return Content(text if form.template is None else form.template.fill({LINE: text}))


def _total_size(sources: Sequence[Source]) -> int | None:
    """Bytes of all sources; None where one of them is no file."""
    sizes = [source.size for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    try:
        with source.open() as stream:
            yield stream
    except OSError as error:
        raise ResourceError(
            f"{source.name} cannot be read: {error.strerror or error}; try again, or leave it out"
        ) from None
