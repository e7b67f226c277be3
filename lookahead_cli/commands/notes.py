"""Notes on stderr: what the user should know beside the results."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def tell(notes: Console, *sentences: str) -> None:
    """A line for each, none of them twice; results must not be lost because nobody can read the notes."""
    with suppress(OSError):
        for sentence in dict.fromkeys(sentences):
            notes.print(f"note: {sentence}", style="yellow")
