"""Small facts kept between runs in a JSON file: they save time, so one that cannot be read or written is no error."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from lookahead_cli.models.whole_file import written_whole


def read_index(index: Path) -> dict[str, object]:
    """What the file holds; nothing if it cannot be read."""
    try:
        known = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def add_to_index(index: Path, key: str, value: object) -> None:
    """Add or replace one entry."""
    with suppress(OSError), written_whole(index) as unfinished:
        unfinished.write_text(json.dumps({**read_index(index), key: value}, indent=1), encoding="utf-8")
