"""A race to watch: two panels side by side, or a table with one text where there is no room for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lookahead_cli.render.palette import style_of
from lookahead_cli.render.wrapped import WrappedText
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation

PANELS_FROM = 64
"""Columns from which two panels are shown side by side."""
FRAME = 4
"""Columns that the frame of a panel takes, with the space inside it."""
NARROW = 36
"""Columns below which the table has but one of its numbers."""
MOST_ROWS, FEWEST_ROWS = 20, 3
"""Lines of text to be seen at once."""
OTHER_ROWS = 7
"""Lines of a terminal that the text of a panel cannot have: its frame, its clock, and what was typed."""


@dataclass
class Racer:
    """Somebody's name and the generation that is going on."""

    name: str
    generation: Generation
    shown: int = 0
    """Steps whose text has been wrapped."""
    wrapped: WrappedText | None = None

    def text(self, console: Console, width: int) -> WrappedText:
        """Its text so far, in the colours of where it came from."""
        if self.wrapped is None or self.wrapped.width != max(width, 2):
            self.wrapped, self.shown = WrappedText(console, width), 0
        for step in self.generation.steps[self.shown :]:
            for text, provenance in zip(step.texts, step.provenance, strict=True):
                self.wrapped.add(text, style_of(console, provenance))
        self.shown = len(self.generation.steps)
        return self.wrapped


def fits_side_by_side(console: Console, racers: Sequence[Racer]) -> bool:
    """Whether there are two, and room for two panels."""
    return len(racers) == 2 and console.width >= PANELS_FROM


def picture(console: Console, racers: Sequence[Racer]) -> RenderableType:
    """The race as it stands: as much of the texts as the screen holds."""
    if fits_side_by_side(console, racers):
        rows = min(max(console.height - OTHER_ROWS, FEWEST_ROWS), MOST_ROWS)
        return side_by_side(console, racers, rows)
    rows = min(max(console.height - len(racers) - OTHER_ROWS, FEWEST_ROWS), MOST_ROWS)
    ahead = max(racers, key=lambda racer: racer.generation.statistics.tokens)
    return Group(clocks(console, racers), *ahead.text(console, console.width).tail(rows))


def side_by_side(console: Console, racers: Sequence[Racer], rows: int | None = None) -> RenderableType:
    """Panels of equal width and height with the last `rows` lines of each text; None: with all of it."""
    width = console.width // len(racers)
    texts = [racer.text(console, width - FRAME) for racer in racers]
    rows = max(len(text.lines) for text in texts) if rows is None else rows
    grid = Table.grid()
    panels = []
    for racer, text in zip(racers, texts, strict=True):
        grid.add_column(width=width)
        body = Group(*text.tail(rows), *clock(racer))
        panels.append(Panel(body, title=Text(visible(racer.name), style="bold"), box=ROUNDED, width=width))
    grid.add_row(*panels)
    return grid


def clock(racer: Racer) -> list[Text]:
    """Two short lines about one of them."""
    statistics = racer.generation.statistics
    return [
        Text(f"{statistics.decode_seconds:.2f} s  {statistics.tokens_per_second:.1f} tokens/s", style="bold"),
        Text(
            f"{statistics.tokens} tokens  {statistics.steps} steps  {statistics.tokens_per_step:.2f}/step", style="dim"
        ),
    ]


def clocks(console: Console, racers: Sequence[Racer]) -> Table:
    """A line for each of them."""
    table = Table(box=SIMPLE_HEAD, padding=0, width=min(console.width, 100))
    table.add_column("strategy", overflow="fold", ratio=1)
    headings = (" \ns", " \ntokens", "tokens\n/step", "tokens\n/s")
    left_out = len(headings) - 1 if console.width < NARROW else 0  # or there would be no room for names
    for heading in headings[left_out:]:
        table.add_column(heading, justify="right", min_width=6, no_wrap=True)
    for racer in racers:
        statistics = racer.generation.statistics
        numbers = (
            f"{statistics.decode_seconds:.2f}",
            str(statistics.tokens),
            f"{statistics.tokens_per_step:.2f}",
            f"{statistics.tokens_per_second:.1f}",
        )
        table.add_row(visible(racer.name), *numbers[left_out:])
    return table
