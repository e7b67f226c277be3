"""The models on this machine: a table on a terminal, a line each in a pipe, or one JSON array."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from lookahead_cli.render.amounts import shown_ago, shown_bytes, shown_count
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.models.entry import Entry

UNKNOWN = "-"
NOT_A_LANGUAGE_MODEL = "no language model"
NARROWEST_NAME = 16
"""Columns for a name; it is broken over lines where it has more."""
RIGHT = ("size", "parameters")
"""Columns of numbers."""
STYLES = {"ready": "", "broken": "red", "incomplete": "yellow", "refused": "yellow"}
"""Of a state; all others are of no concern."""


def models_table(entries: Sequence[Entry]) -> Table:
    """A line for each model."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("model", overflow="fold", min_width=NARROWEST_NAME)
    for heading in ("size", "parameters", "architecture", "stored as", "runner", "strategies", "used", "state"):
        table.add_column(heading, justify="right" if heading in RIGHT else "left")
    for entry in entries:
        style = STYLES.get(entry.state, "dim") if entry.language_model else "dim"
        table.add_row(*(Text(visible(cell)) for cell in cells(entry, short=True)), style=style)
    return table


def model_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The same for a pipe: the fields of a model in one line, tabs between, its name first."""
    for entry in entries:
        yield "\t".join(visible(cell).replace("\n", " ").replace("\t", " ") for cell in cells(entry, short=False))


def model_remarks(entries: Iterable[Entry]) -> Iterator[str]:
    """Why what is not as one would wish it is so, a sentence each."""
    for entry in entries:
        if entry.why:
            yield f"{entry.name} is {entry.state}: {entry.why.rstrip('.')}"
    for entry in entries:
        plan = entry.plan if entry.language_model else None
        if plan and plan.why_not_lean:
            yield f"{entry.name} is not run by the lean runner, because {plan.why_not_lean}"
        if plan and plan.strategies in ("chains only", "greedy only"):
            yield f"{entry.name} takes {plan.strategies}, because {plan.why}"


def cells(entry: Entry, *, short: bool) -> tuple[str, ...]:
    """What stands in the columns; `short`: as few characters as will do."""
    facts, plan = entry.facts, entry.plan
    used = UNKNOWN if entry.last_used is None else shown_ago(max(time.time() - entry.last_used, 0))
    state = entry.state if entry.language_model else NOT_A_LANGUAGE_MODEL
    runs = plan if entry.language_model else None
    return (
        shortened(entry.name) if short else entry.name,
        shown_bytes(entry.size) if entry.size else UNKNOWN,
        shown_count(facts.parameters) if facts and facts.parameters else UNKNOWN,
        facts.architecture if facts and facts.architecture else UNKNOWN,
        facts.dtypes[0] if facts and facts.dtypes else UNKNOWN,
        runs.runner if runs else UNKNOWN,
        runs.strategies if runs else UNKNOWN,
        used,
        f"{state}, revision {entry.revision[:12]}" if entry.revision else state,
    )


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
