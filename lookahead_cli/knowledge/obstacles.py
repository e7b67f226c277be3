"""What stands in the way of guesses with a model that transformers runs: found out by trying, and remembered."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from lookahead_cli.models.index import add_to_index, read_index

FILE = "obstacles.json"


@dataclass(frozen=True)
class Obstacles:
    """A sentence each, or None where there is nothing in the way."""

    rewind: str | None
    """Why guesses cannot be taken back."""
    tree: str | None
    """Why they cannot branch."""


def keep_obstacles(folder: Path, obstacles: Obstacles) -> None:
    """Remember them in the knowledge folder of the model, for this version of transformers."""
    if kept_obstacles(folder) != obstacles:
        add_to_index(folder / FILE, _version(), asdict(obstacles))


def kept_obstacles(folder: Path) -> Obstacles | None:
    """Those that an earlier run has found; None if there was none."""
    match read_index(folder / FILE).get(_version()):
        case {"rewind": str() | None as rewind, "tree": str() | None as tree}:
            return Obstacles(rewind, tree)
    return None


def _version() -> str:
    """What may change them."""
    return f"transformers {metadata.version('transformers')}"
