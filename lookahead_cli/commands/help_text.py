"""The help of a command, from its docstring: sentences, then examples that can be typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

EXAMPLES = "Examples:"
"""Begins the last part of a command's docstring: a command line in each line."""


def help_of(command: Callable[..., Any]) -> str:
    """What it does. A paragraph is one line, since the terminal wraps it."""
    sentences, _, _ = inspect.getdoc(command).partition(EXAMPLES)  # type: ignore[union-attr] # each has one
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in sentences.strip().split("\n\n"))


def examples_of(command: Callable[..., Any]) -> list[str]:
    """Command lines."""
    _, _, examples = inspect.getdoc(command).partition(EXAMPLES)  # type: ignore[union-attr] # each has one
    return [line.strip() for line in examples.splitlines() if line.strip()]


def epilog_of(command: Callable[..., Any]) -> str:
    """What stands below its options."""
    return "\n".join([EXAMPLES, *(f"  {line}" for line in examples_of(command))])


def documented(app: typer.Typer, name: str, panel: str | None = None) -> Callable[[Any], Any]:
    """A decorator that adds a command to `app`, with its docstring as its help."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        added = app.command(name, rich_help_panel=panel, help=help_of(command), epilog=epilog_of(command))
        return added(command)

    return add
