"""A model on this machine, as `lookahead models` speaks of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISLNK
from typing import Literal

from lookahead_cli.errors import ModelError
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.models.facts import Facts, folder_facts
from lookahead_cli.models.folder import read_json
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.plan import Plan, plan

State = Literal[
    "ready",
    "not fetched",
    "not converted",
    "in preparation",
    "incomplete",
    "broken",
    "refused",
    "outdated",
    "file gone",
]


@dataclass(frozen=True)
class Entry:
    """A model that is here, in part or whole, or that could be fetched by its name."""

    kind: Literal["packaged", "gguf", "hub"]
    name: str
    """What one types after `-m`."""
    state: State
    why: str = ""
    """Why it is not simply ready."""
    folder: Path | None = None
    revision: str = ""
    """Of a hub model, if it is another than the main branch."""
    size: int = 0
    """Bytes on disk."""
    facts: Facts | None = None
    plan: Plan | None = None
    last_used: float | None = None
    """Seconds since the epoch, where that is known."""

    @property
    def language_model(self) -> bool:
        """Whether it is one, as far as its files tell."""
        return self.facts is None or self.facts.language_model


def described(entry: Entry, folder: Path, weights: Sequence[Path], wish: Wish) -> Entry:
    """`entry` with what the files in its `folder` say. Raises ModelError if they are damaged."""
    try:
        knowledge = knowledge_folder(folder)
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror}") from error
    planned = plan(read_json(folder / "config.json"), weights, wish, knowledge)
    return replace(entry, facts=folder_facts(folder, weights), plan=planned, last_used=last_change(knowledge))


def last_change(knowledge: Path) -> float | None:
    """When something was last learned about a model, which every run but a greedy one does."""
    times = []
    with suppress(OSError):
        for file in knowledge.iterdir():
            with suppress(OSError):
                times.append(file.stat().st_mtime)
    return max(times, default=None)


def folder_bytes(folder: Path) -> int:
    """Size of all files below `folder`; links count for nothing, nor what they point to."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = (Path(parent) / name).lstat()
                total += 0 if S_ISLNK(status.st_mode) else status.st_size
    return total
