"""What the two outputs can show. Asked of the outputs themselves: variables such as FORCE_COLOR do not make a pipe a
terminal, and must not, or colours would end up in files."""

from __future__ import annotations

import os
import sys
from typing import Literal

from rich.console import Console

ColorSetting = Literal["auto", "always", "never"]


def console(stream: Literal["stdout", "stderr"], color: ColorSetting) -> Console:
    """A console on one of the outputs. With "auto" it is coloured on a terminal unless NO_COLOR is set."""
    file = getattr(sys, stream)
    terminal = file.isatty()
    plain = color == "never" or (color == "auto" and (not terminal or bool(os.environ.get("NO_COLOR"))))
    return Console(
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
    return Console(file=target.file, force_terminal=True, no_color=True, highlight=False, markup=False, emoji=False)


def has_color(target: Console) -> bool:
    """Whether styles make a difference there."""
    return target.color_system is not None and not target.no_color
