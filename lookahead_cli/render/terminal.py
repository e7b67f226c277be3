"""What the two outputs can show. Asked of the outputs themselves: variables such as FORCE_COLOR do not make a pipe a
terminal, and must not, or colours would end up in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Literal

from rich.console import Console, RenderableType
from rich.table import Table

ColorSetting = Literal["auto", "always", "never"]

WIDTH_IN_PIPE = 120
"""Columns of a table that is not for a terminal, whose width nobody can tell."""


class OutputConsole(Console):
    """A console that does not end the program where a reader has gone: whoever writes knows what to do then."""

    def on_broken_pipe(self) -> None:
        raise


def console(stream: Literal["stdout", "stderr"], color: ColorSetting) -> Console:
    """A console on one of the outputs. With "auto" it is coloured on a terminal unless NO_COLOR is set."""
    file = getattr(sys, stream)
    terminal = file.isatty()
    plain = color == "never" or (color == "auto" and (not terminal or bool(os.environ.get("NO_COLOR"))))
    return OutputConsole(
        file=file,
        force_terminal=terminal,
        no_color=plain,
        color_system=None if plain else "auto" if terminal else "standard",
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not terminal,  # in a file a sentence stays one line
    )


def marking_console(color: ColorSetting) -> Console:
    """A console on stdout that still underlines where it may not colour, for what cannot be told without any mark."""
    target = console("stdout", color)
    if not target.is_terminal or has_color(target):
        return target
    return OutputConsole(
        file=target.file, force_terminal=True, no_color=True, highlight=False, markup=False, emoji=False
    )


def has_color(target: Console) -> bool:
    """Whether styles make a difference there."""
    return target.color_system is not None and not target.no_color


def print_tables(tables: Iterable[RenderableType], color: ColorSetting) -> None:
    """Print them on stdout, as wide as its terminal is, or as WIDTH_IN_PIPE.

    What needs more than the terminal has is printed whole: lines that go on below are read more easily than tables
    whose names and numbers are missing.
    """
    output = console("stdout", color)
    width = output.width if output.is_terminal else WIDTH_IN_PIPE
    for table in tables:
        output.width = WIDTH_IN_PIPE
        needed = output.measure(table).minimum if isinstance(table, Table) else 0
        output.width = max(width, needed)
        output.print(table)
