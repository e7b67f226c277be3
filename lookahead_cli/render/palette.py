"""The colour of each provenance, in every theme: the one place where a colour is chosen."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.style import Style
from rich.theme import Theme

from lookahead_cli.decoding.events import MODEL

FROM = "from."
"""Begins the name of a provenance's style in a console."""
OTHER = "another drafter"
"""Stands for a drafter that has no style of its own."""
NOTE, GOOD, BAD = "note", "good", "bad"
"""Styles of sentences, not of tokens."""
ACCEPTED, REJECTED, BONUS, ASIDE = "accepted", "rejected", "bonus", "aside"
"""Styles of what a step came to, where steps are explained; the last one is that of signs and numbers around it."""
MONO = "mono"
"""The theme without colours, whatever the terminal has."""

NO_SOURCES = {NOTE, GOOD, BAD, ACCEPTED, REJECTED, BONUS, ASIDE}

Styles = Mapping[str, str]

BRIGHT: Styles = {
    "successors": "green",
    "copies": "blue",
    "n-grams": "magenta",
    "runner-ups": "yellow",
    "jacobi": "cyan",
    "window": "bright_magenta",
    "draft-model": "bright_green",
    "its own guesses": "bright_blue",
    "unverified": "red",
    OTHER: "bright_red",
    NOTE: "yellow",
    GOOD: "bold green",
    BAD: "bold red",
    ACCEPTED: "green",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}
"""Colours by name: the terminal's own settings say what they look like."""

DARK: Styles = {
    "successors": "#116329",
    "copies": "#0550ae",
    "n-grams": "#8250df",
    "runner-ups": "#953800",
    "jacobi": "#0e7490",
    "window": "#bf3989",
    "draft-model": "bold #116329",
    "its own guesses": "bold #0550ae",
    "unverified": "#cf222e",
    OTHER: "bold #953800",
    NOTE: "#953800",
    GOOD: "bold #116329",
    BAD: "bold #cf222e",
    ACCEPTED: "#116329",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}
"""Dark enough to be read on white."""

DARK_OF_16: Styles = {
    "successors": "green",
    "copies": "blue",
    "n-grams": "magenta",
    "runner-ups": "red",
    "jacobi": "bold cyan",
    "window": "bold magenta",
    "draft-model": "bold green",
    "its own guesses": "bold blue",
    "unverified": "underline red",
    OTHER: "bold red",
    NOTE: "magenta",
    GOOD: "bold green",
    BAD: "bold red",
    ACCEPTED: "green",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}

COLORBLIND: Styles = {
    "successors": "#009e73",
    "copies": "#0072b2",
    "n-grams": "#cc79a7",
    "runner-ups": "#e69f00",
    "jacobi": "#d55e00",
    "window": "#56b4e9",
    "draft-model": "bold #009e73",
    "its own guesses": "bold #0072b2",
    "unverified": "bold #d55e00",
    OTHER: "bold #f0e442",
    NOTE: "#e69f00",
    GOOD: "bold #56b4e9",
    BAD: "bold #d55e00",
    ACCEPTED: "#009e73",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}
"""The colours of Okabe and Ito (2008), which people with any kind of colour vision can tell apart."""

COLORBLIND_OF_16: Styles = {
    "successors": "cyan",
    "copies": "bold blue",
    "n-grams": "underline magenta",
    "runner-ups": "yellow",
    "jacobi": "underline red",
    "window": "bold cyan",
    "draft-model": "underline cyan",
    "its own guesses": "underline bold blue",
    "unverified": "bold red",
    OTHER: "bold yellow",
    NOTE: "yellow",
    GOOD: "bold cyan",
    BAD: "bold underline red",
    ACCEPTED: "cyan",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}
"""Where those would become the nearest of 16, two of them the same: told apart by more than their colour."""

COLORLESS: Styles = {
    "successors": "underline",
    "copies": "underline bold",
    "n-grams": "underline dim",
    "runner-ups": "underline italic",
    "jacobi": "underline bold italic",
    "window": "underline dim italic",
    "draft-model": "underline reverse",
    "its own guesses": "underline reverse bold",
    "unverified": "underline reverse dim",
    OTHER: "underline reverse italic",
    NOTE: "italic",
    GOOD: "bold",
    BAD: "bold reverse",
    ACCEPTED: "underline",
    REJECTED: "dim strike",
    BONUS: "bold reverse",
    ASIDE: "dim",
}
"""Every accepted guess is underlined; how else it looks says whose it was."""

THEMES: dict[str, tuple[Styles, Styles]] = {
    "default": (BRIGHT, BRIGHT),
    "light": (DARK, DARK_OF_16),
    "colorblind": (COLORBLIND, COLORBLIND_OF_16),
    MONO: (COLORLESS, COLORLESS),
}
"""What `theme` may be: styles for terminals of many colours, and for those of 16."""

FEW_COLORS = ("standard", "windows", None)
"""What rich calls 16 colours."""


def console_theme(name: str, color_system: str | None) -> Theme:
    """A theme as a console takes it."""
    many, few = THEMES[name]
    styles = few if color_system in FEW_COLORS else many
    named = {key if key in NO_SOURCES else FROM + key: style for key, style in styles.items()}
    return Theme({FROM + MODEL: "none", **named})


def style_of(console: Console, provenance: str) -> Style:
    """How a token from this source looks there."""
    return console.get_style(FROM + provenance, default=FROM + OTHER)


PLOT_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f5f3f")
"""Curves of a plot, after Okabe and Ito too."""
INK = "#333333"
"""Everything else in it."""
