"""Notes on stderr: what the user should know beside the results."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from lookahead_cli.session import Session


def tell(notes: Console, *sentences: str) -> None:
    """A line for each, none of them twice; results must not be lost because nobody can read the notes."""
    from lookahead_cli.render.palette import NOTE

    with suppress(OSError):
        for sentence in dict.fromkeys(sentences):
            notes.print(f"note: {sentence}", style=NOTE)


def about_model(session: Session, seconds: float) -> str:
    """Where the model lies, how it is run, and how long it took to load, for --verbose."""
    model, loaded = session.settings.model, session.loaded
    return (
        f"{loaded.folder}: {loaded.parameters / 1e6:,.0f} million parameters, {model.runner} runner, {model.dtype} on "
        f"{model.device}, threads: {model.threads}, context of {model.context_length:,} tokens, "
        f"ready after {seconds:.1f} s"
    )
