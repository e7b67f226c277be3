"""The colour of each provenance: the one place where a colour is chosen."""

from __future__ import annotations

from rich.style import Style

from lookahead_cli.decoding.events import MODEL

PROVENANCE_STYLES: dict[str, Style] = {
    MODEL: Style.null(),
    "successors": Style(color="green"),
    "copies": Style(color="blue"),
    "n-grams": Style(color="magenta"),
    "runner-ups": Style(color="yellow"),
    "jacobi": Style(color="cyan"),
    "window": Style(color="bright_magenta"),
    "draft-model": Style(color="bright_green"),
    "its own guesses": Style(color="bright_blue"),
    "unverified": Style(color="red"),
}
OTHER = Style(color="bright_red")
"""For a drafter that has no colour of its own."""


def style_of(provenance: str) -> Style:
    """How a token from this source looks."""
    return PROVENANCE_STYLES.get(provenance, OTHER)


ACCEPTED = Style(color="green")
"""A guess the model agrees with, where steps are explained."""
REJECTED = Style(dim=True, strike=True)
BONUS = Style(bold=True, reverse=True)
ASIDE = Style(dim=True)
"""Signs and numbers around the tokens there."""

PLOT_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f5f3f")
"""Curves of a plot: colours that people with any kind of colour vision can tell apart (Okabe and Ito 2008)."""
INK = "#333333"
"""Everything else in it."""
