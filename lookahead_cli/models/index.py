"""Small facts kept between runs in a JSON file: they save time, so one that cannot be read or written is no error."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path


def read_index(index: Path) -> dict[str, object]:
    """What the file holds; nothing if it cannot be read."""
    try:
        known = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def add_to_index(index: Path, key: str, value: object) -> None:
    """Add or replace one entry. Written beside and renamed, so that a reader never meets half an index."""
    with suppress(OSError):
        index.parent.mkdir(parents=True, exist_ok=True)
        handle, staging = tempfile.mkstemp(prefix=f".{index.name}-", dir=index.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({**read_index(index), key: value}, file, indent=1)
            Path(staging).replace(index)
        finally:
            Path(staging).unlink(missing_ok=True)
