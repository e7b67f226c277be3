"""The folders in which models are kept: ours, and that of the hub."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.models.cache import cache_folder
from lookahead_cli.models.entry import folder_bytes


@dataclass(frozen=True)
class Storage:
    folder: Path
    size: int
    """Bytes of all files in it; 0 if it is not there."""
    free: int
    """Bytes that are free on its disk."""
    obstacle: str | None
    """Why nothing can be written to it, in words; None if it can."""


def read_cache() -> Storage:
    """Our own. Raises ResourceError if its place cannot be told."""
    return read_storage(cache_folder())


def read_hub_cache() -> Storage:
    """The hub library's."""
    from huggingface_hub import constants

    return read_storage(Path(constants.HF_HUB_CACHE))


def hub_is_offline() -> bool:
    """Whether the hub library is told to make no requests."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def read_storage(folder: Path) -> Storage:
    """Look at a folder that need not be there yet; nothing is left in it."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return Storage(folder, folder_bytes(folder), shutil.disk_usage(there).free, write_obstacle(there))


def write_obstacle(folder: Path) -> str | None:
    """Why no file can be made there; None if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None
