"""Consoles as the program makes them, on nothing."""

from __future__ import annotations

import io

from rich.console import Console

from lookahead_cli.render.terminal import styled_console


class Screen(io.StringIO):
    """Something that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def themed(theme: str, colors: str = "truecolor", *, terminal: bool = True) -> Console:
    """A console of a theme, with so many colours."""
    return styled_console(Screen() if terminal else io.StringIO(), colors, theme)
