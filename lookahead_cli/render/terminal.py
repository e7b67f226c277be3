"""What the terminals at both outputs can show."""

from __future__ import annotations

import sys
from typing import Literal

from rich.console import Console

ColorSetting = Literal["auto", "always", "never"]


def console(stream: Literal["stdout", "stderr"], color: ColorSetting) -> Console:
    """A console on one of the outputs. With "auto" it is coloured on a terminal unless NO_COLOR is set."""
    return Console(
        file=getattr(sys, stream),
        no_color=True if color == "never" else False if color == "always" else None,
        force_terminal=True if color == "always" else None,
        color_system="standard" if color == "always" and not getattr(sys, stream).isatty() else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not getattr(sys, stream).isatty(),  # in a file a sentence stays one line
    )


def has_color(target: Console) -> bool:
    """Whether styles make a difference there."""
    return target.color_system is not None and not target.no_color
