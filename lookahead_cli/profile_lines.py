"""On which line of a TOML text each key stands, which the TOML reader does not tell.

A statement (a table's heading, or a key with its value) is a TOML text of its own, so the reader itself is asked where
one ends: it refuses the lines of a statement until the last of them is there. That way quoted and dotted keys, and
strings and lists over many lines, are read by the same rules as the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tomli

Path = tuple[str, ...]
"""The keys that lead to a value, outermost first."""

LONGEST_STATEMENT = 200
"""Lines. A longer one is tried again with each of its lines, so nothing behind its beginning is looked for."""
INNERMOST = "innermost"
"""Stands for the place that a heading leads to."""


@dataclass(frozen=True)
class Statement:
    """Some lines of the text that say one thing."""

    line: int
    """The first of them, counted from 1."""
    text: str

    @property
    def is_heading(self) -> bool:
        return self.text.lstrip().startswith("[")


def key_lines(text: str) -> dict[Path, int]:
    """For each table and key of a valid TOML text the line where it is first named; what cannot be told is left out.

    What stands in the tables of a list is passed over: no path leads there.
    """
    lines: dict[Path, int] = {}
    lists: set[Path] = set()
    table: Path | None = ()
    for statement in statements(text):
        if statement.is_heading:
            table, is_list = _heading(statement)
            if any(table[:depth] in lists for depth in range(1, len(table))):
                table = None
                continue
            named: list[Path] = [table]
            if is_list:
                lists.add(table)
                table = None
        elif table is None:
            continue
        else:
            named = [(*table, *path) for path in _keys(statement)]
        for path in named:
            for depth in range(1, len(path) + 1):
                lines.setdefault(path[:depth], statement.line)
    return lines


def statements(text: str) -> Iterator[Statement]:
    """The statements of a valid TOML text, comments and blank lines between them left out."""
    begun: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not begun and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun.append(line)
        whole = "\n".join(begun)
        if _parsed(whole) is not None:
            yield Statement(number - len(begun) + 1, whole)
            begun = []
        elif len(begun) == LONGEST_STATEMENT:
            key = _key(begun[0])
            if key is not None:
                # Its key is known, its value is not needed.
                yield Statement(number - len(begun) + 1, f"{begun[0][: key[1]]}= 0")
            return


def _heading(statement: Statement) -> tuple[Path, bool]:
    """The table it leads to, and whether that is one of a list."""
    place: Any = _parsed(f"{statement.text}\n{INNERMOST} = 0")
    path: list[str] = []
    while isinstance(place, dict):
        (key,) = place
        path.append(key)
        place = place[key]
    return (tuple(path), True) if isinstance(place, list) else (tuple(path[:-1]), False)


def _keys(statement: Statement) -> list[Path]:
    """What it gives a value: its key, and those of a table that stands on the same line."""
    key = _key(statement.text.partition("\n")[0])
    if key is None:
        return []
    if "\n" in statement.text:
        return [key[0]]  # inner keys may be on any of the lines
    return list(_paths(_parsed(statement.text)))


def _key(line: str) -> tuple[Path, int] | None:
    """The key at the beginning of a line, and the place of the = behind it; None if there is none."""
    place = line.find("=")
    while place >= 0:  # one within quotes does not end the key
        parsed = _parsed(f"{line[:place]}= 0")
        if parsed is not None:
            return next(_paths(parsed)), place
        place = line.find("=", place + 1)
    return None


def _paths(place: Any) -> Iterator[Path]:
    """The paths to all that is no table, and to empty tables."""
    if not isinstance(place, dict) or not place:
        yield ()
        return
    for key, value in place.items():
        for path in _paths(value):
            yield (key, *path)


def _parsed(text: str) -> dict[str, Any] | None:
    """None if it is no TOML text."""
    try:
        return tomli.loads(text)
    except (ValueError, RecursionError):
        return None
