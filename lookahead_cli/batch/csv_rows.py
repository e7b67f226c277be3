"""CSV: a row a record, whose cells may hold line breaks; the first row names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from lookahead_cli.batch.content import MOST_BYTES, Content, Unusable, identified, usable_prompt
from lookahead_cli.batch.form import Form
from lookahead_cli.batch.lines import QUOTE, TOO_LONG, Lines, decoded
from lookahead_cli.errors import PromptError
from lookahead_cli.layers import shortened
from lookahead_cli.profile import nearest

PROMPT, ID = "prompt", "id"
OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs"}

Row = list[str]


class _FedLines(Iterator[str]):
    """Lines for the csv module. Of one that cannot be read something is passed on all the same, and the reason noted:
    whether a cell is open stays known, so a broken line breaks its own row and no other."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.begin_row()

    def begin_row(self) -> None:
        self.reason: str | None = None
        self._size = 0

    def __next__(self) -> str:
        line = next(self._lines)
        self._size += line.size
        try:
            text = decoded(line)
        except Unusable as error:
            self.reason = self.reason or str(error)
            text = line.content.decode("utf-8", "replace").replace("\0", "")
        if self._size <= MOST_BYTES:
            return text
        self.reason = self.reason or f"the row is {TOO_LONG}: is a closing quotation mark missing?"
        quotes = line.quotes + line.content.count(QUOTE)
        return QUOTE.decode() * (quotes % 2)  # of a long text that is not kept all that counts: does it end in a cell?


def read_rows(lines: Lines, delimiter: str) -> Iterator[tuple[int, Row | Unusable]]:
    """Every row with the line it begins on, or the reason why it is none; blank rows are left out."""
    csv.field_size_limit(max(csv.field_size_limit(), MOST_BYTES))  # rows are limited above, where no line gets lost
    fed = _FedLines(lines)
    reader = csv.reader(fed, delimiter=delimiter, strict=True)
    while True:
        begin = lines.number + 1
        fed.begin_row()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield begin, Unusable(fed.reason or f"not CSV: {str(error).partition(' - ')[0]}")
            continue
        if fed.reason is not None:
            yield begin, Unusable(fed.reason)
        elif len(row) > 1 or (row and row[0].strip()):
            yield begin, row


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns, and which of them are used."""

    names: tuple[str, ...]
    prompt: str | None
    """None: a template fills several into the prompt."""

    def content(self, row: Row, form: Form) -> Content:
        """What a row says.

        Raises:
            Unusable: it has another number of cells, or no prompt.
        """
        if len(row) != len(self.names):
            raise Unusable(f"the number of cells is {len(row)}, that of columns {len(self.names)}")
        cells = dict(zip(self.names, row, strict=True))
        identity = None if self.prompt == ID else cells.get(ID) or None
        with identified(identity):
            if self.prompt is not None:
                return Content(usable_prompt(cells[self.prompt], f'"{shortened(self.prompt)}"'), id=identity)
            assert form.template is not None, "without it there is a column for the prompt"
            return Content(form.template.fill(cells), id=identity)


def read_columns(rows: Iterator[tuple[int, Row | Unusable]], name: str, form: Form) -> Columns | None:
    """The first row, which names the columns; None if there is no row at all.

    Raises:
        PromptError: it cannot be read, or does not have the columns that are needed.
    """
    line, header = next(rows, (0, None))
    if header is None:
        return None
    if isinstance(header, Unusable):
        raise PromptError(f"{name}, line {line}: the names of the columns cannot be read: {header}")
    names = [cell.strip() for cell in header]
    used = form.template.fields if form.template is not None else (_prompt_column(names, name, form),)
    for column in (*used, ID):
        if column != ID or column in used:
            _check_there(column, names, name, "--column" if form.template is None else "--template")
        if names.count(column) > 1:
            raise PromptError(f'{name}: two columns are called "{shortened(column)}"; rename one of them')
    return Columns(tuple(names), None if form.template is not None else used[0])


def _prompt_column(names: Row, name: str, form: Form) -> str:
    if form.column is not None:
        return form.column.strip()
    if PROMPT in names:
        return PROMPT
    if len(names) == 1:
        for other, word in OTHER_DELIMITERS.items():
            if other in names[0]:
                raise PromptError(f"{name}: its cells seem to be separated by {word}; separate them by commas")
        return names[0]
    raise PromptError(
        f"{name}: no column is called {PROMPT}; say which one holds the prompts with --column, {_list(names)}"
    )


def _check_there(column: str, names: Row, name: str, option: str) -> None:
    if column not in names:
        hint = nearest(column, names)
        raise PromptError(f'{name}: option {option}: there is no column "{shortened(column)}"{hint}; {_list(names)}')


def _list(names: Row) -> str:
    return f"there are {shortened(', '.join(names))}"
