"""What the two outputs can show. Asked of the outputs themselves: variables such as FORCE_COLOR do not make a pipe a
terminal, and must not, or colours would end up in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TextIO

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console, RenderableType
from rich.table import Table

from lookahead_cli.render.palette import MONO, console_theme

if TYPE_CHECKING:
    from lookahead_cli.profile import DisplaySettings

WIDTH_IN_PIPE = 120
"""Columns of a table that is not for a terminal, whose width nobody can tell."""


class OutputConsole(Console):
    """A console that does not end the program where a reader has gone: whoever writes knows what to do then."""

    def on_broken_pipe(self) -> None:
        raise


def console(stream: Literal["stdout", "stderr"], display: DisplaySettings) -> Console:
    """A console on one of the outputs, in the theme of the settings; with `quiet` nothing is said on stderr.

    With "auto" it is coloured on a terminal unless NO_COLOR is set; the theme that has no colours is not concerned.
    """
    file = getattr(sys, stream)
    terminal = file.isatty()
    unwanted = not terminal or (bool(os.environ.get("NO_COLOR")) and display.theme != MONO)
    plain = display.color == "never" or (display.color == "auto" and unwanted)
    return styled_console(
        file,
        None if plain else color_system() if terminal else color_system() or "standard",
        display.theme,
        quiet=display.quiet and stream == "stderr",
        soft_wrap=not terminal,  # in a file a sentence stays one line
    )


def styled_console(file: TextIO, colors: str | None, theme: str, **more: Any) -> Console:
    """A console that takes all it is given to print as it stands."""
    return OutputConsole(
        file=file,
        force_terminal=file.isatty(),
        no_color=colors is None or theme == MONO,
        color_system=colors,  # type: ignore[arg-type] # one of the words it takes
        theme=console_theme(theme, colors),
        highlight=False,
        markup=False,
        emoji=False,
        **more,
    )


def color_system() -> str | None:
    """How many colours the terminal has, by its variables; what goes into a pipe may end up on it too (`| less -R`)."""
    return Console(force_terminal=True).color_system


def marking_console(display: DisplaySettings) -> Console:
    """A console on stdout that still underlines where it may not colour, for what cannot be told without any mark."""
    target = console("stdout", display)
    if not target.is_terminal or target.is_dumb_terminal or has_color(target):
        return target
    return styled_console(target.file, color_system(), MONO)  # type: ignore[arg-type] # it is what we gave it


def has_color(target: Console) -> bool:
    """Whether styles make a difference there."""
    return target.color_system is not None


def colors_of(target: Console) -> ColorSystem | None:
    """The same, as `Style.render` takes it."""
    return None if target.color_system is None else COLOR_SYSTEMS[target.color_system]


def print_tables(tables: Iterable[RenderableType], display: DisplaySettings) -> None:
    """Print them on stdout, as wide as its terminal is, or as WIDTH_IN_PIPE.

    What needs more than the terminal has is printed whole: lines that go on below are read more easily than tables
    whose names and numbers are missing.
    """
    output = console("stdout", display)
    width = output.width if output.is_terminal else WIDTH_IN_PIPE
    for table in tables:
        output.width = WIDTH_IN_PIPE
        needed = output.measure(table).minimum if isinstance(table, Table) else 0
        output.width = max(width, needed)
        output.print(table)
