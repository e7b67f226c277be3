"""The models on this machine: a table on a terminal, a line each in a pipe, or one JSON array."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from lookahead_cli.render.amounts import shown_ago, shown_bytes, shown_count
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.models.entry import Entry

UNKNOWN = "-"
NOT_A_LANGUAGE_MODEL = "no language model"
LONGEST_NAME = 24
"""Characters of a name that stand in one line if there is no room for more."""
GAP = 2
"""Between two columns."""
HEADINGS = ("model", "size", "parameters", "architecture", "stored as", "runner", "strategies", "used", "state")
DISPENSABLE = ("used", "architecture", "stored as", "parameters")
"""Columns that a narrow terminal does without, the first one first."""
RIGHT = ("size", "parameters")
"""Columns of numbers."""
STYLES = {"ready": "", "broken": "red", "incomplete": "yellow", "refused": "yellow"}
"""Of a state; all others are of no concern."""


def models_table(entries: Sequence[Entry], width: int) -> Table:
    """A line for each model. Where the terminal is narrower than that takes, columns go that can be done without."""
    rows = [tuple(map(visible, cells(entry, short=True))) for entry in entries]
    shown = list(range(len(HEADINGS)))
    for heading in DISPENSABLE:
        if _needed(rows, shown) > width:
            shown.remove(HEADINGS.index(heading))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place in shown:
        justify: JustifyMethod = "right" if HEADINGS[place] in RIGHT else "left"
        table.add_column(HEADINGS[place], justify=justify, no_wrap=place > 0, overflow="fold")
    for entry, row in zip(entries, rows, strict=True):
        style = STYLES.get(entry.state, "dim") if entry.language_model else "dim"
        table.add_row(*(Text(row[place]) for place in shown), style=style)
    return table


def _needed(rows: Sequence[Sequence[str]], shown: Iterable[int]) -> int:
    """Columns of the screen for these columns of the table, long names broken over lines."""
    total = 1
    for place in shown:
        widest = max(cell_len(cell) for cell in (HEADINGS[place], *(row[place] for row in rows)))
        total += (widest if place else min(widest, LONGEST_NAME)) + GAP
    return total


def model_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The same for a pipe: the fields of a model in one line, tabs between, its name first."""
    for entry in entries:
        yield "\t".join(visible(cell).replace("\n", " ").replace("\t", " ") for cell in cells(entry, short=False))


def model_remarks(entries: Iterable[Entry]) -> Iterator[str]:
    """Why what is not as one would wish it is so, a sentence each."""
    for entry in entries:
        if entry.why:
            yield f"{entry.name} is {entry.state}: {reason(entry)}"
    for entry in entries:
        plan = entry.plan if entry.language_model else None
        if plan and plan.why_not_lean:
            yield f"{entry.name} is not run by the lean runner, because {plan.why_not_lean}"
        if plan and plan.strategies in ("chains only", "greedy only"):
            yield f"{entry.name}: {plan.strategies}, because {plan.why}"


def cells(entry: Entry, *, short: bool) -> tuple[str, ...]:
    """What stands in the columns; `short`: as few characters as will do."""
    facts, plan = entry.facts, entry.plan
    used = UNKNOWN if entry.last_used is None else shown_ago(max(time.time() - entry.last_used, 0))
    runs = plan if entry.language_model else None
    runner = runs.runner if runs else UNKNOWN
    state = entry.state if entry.language_model else NOT_A_LANGUAGE_MODEL
    if entry.revision:
        state += f", revision {entry.revision[:12]}"
    if not short:  # where no remarks follow
        runner += f" (not lean: {runs.why_not_lean})" if runs and runs.why_not_lean else ""
        state += f" ({reason(entry)})" if entry.why else ""
    return (
        shortened(entry.name) if short else entry.name,
        shown_bytes(entry.size) if entry.size else UNKNOWN,
        shown_count(facts.parameters) if facts and facts.parameters else UNKNOWN,
        facts.architecture if facts and facts.architecture else UNKNOWN,
        facts.dtypes[0] if facts and facts.dtypes else UNKNOWN,
        runner,
        runs.strategies if runs else UNKNOWN,
        used,
        state,
    )


def reason(entry: Entry) -> str:
    """Why it is in its state; the name need not be said again."""
    why = entry.why.rstrip(".")
    return f"it{why[len(entry.name) :]}" if why.startswith(f"{entry.name} ") else why


def shortened(name: str) -> str:
    """A path below the user's home begins with ~, as it may be typed."""
    home = str(Path.home())
    return f"~{name[len(home) :]}" if name.startswith(f"{home}/") else name


def models_object(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The same as plain dicts, lists and numbers."""
    return [
        {
            "name": entry.name,
            "kind": entry.kind,
            "state": entry.state,
            "why": entry.why or None,
            "folder": str(entry.folder) if entry.folder else None,
            "revision": entry.revision or None,
            "bytes": entry.size,
            "language_model": entry.language_model,
            "architecture": entry.facts.architecture if entry.facts else None,
            "parameters": entry.facts.parameters if entry.facts else None,
            "stored_dtypes": list(entry.facts.dtypes) if entry.facts else [],
            "plan": asdict(entry.plan) if entry.plan else None,
            "last_used": entry.last_used,
        }
        for entry in entries
    ]
