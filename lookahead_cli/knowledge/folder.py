"""Where what is known about a model is kept between runs: a folder per model in the cache folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from lookahead_cli.models.cache import cache_folder

LOCK = "rehearsal.lock"
"""Held in a model's folder by the process in which it rehearses."""


def knowledge_folder(model: Path) -> Path:
    """The folder for the model in the folder `model`; it need not exist yet.

    A model is told by the sizes and times of its files: another one at the same place starts from nothing.
    """
    marks = []
    for file in sorted(model.iterdir()):
        if file.suffix in (".json", ".safetensors", ".bin"):
            with suppress(OSError):  # a link to nowhere
                marks.append((file.name, file.stat().st_size, file.stat().st_mtime_ns))
    digest = hashlib.sha256(repr((str(model.resolve()), marks)).encode()).hexdigest()
    return cache_folder() / "knowledge" / digest[:16]
