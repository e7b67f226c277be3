"""Names of models for the completion in a shell, found in an instant: by the names of folders, nothing is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lookahead_cli.models.cache import cache_folder
from lookahead_cli.models.index import read_index

MODELS = "models--"
"""How the folders of models in the hub's cache begin."""


def model_names(begin: str) -> list[str]:
    """Names of models that begin so: packaged ones, those in the hub's cache, folders and GGUF files."""
    from lookahead_cli.models.packaged import PACKAGED

    known = [*PACKAGED, *_hub_names(), *_converted_files()]
    return [*(name for name in known if name.startswith(begin)), *_paths(begin)]


def _hub_names() -> Iterator[str]:
    with suppress(OSError):
        for folder in sorted(_hub_cache().iterdir()):
            if folder.name.startswith(MODELS) and (folder / "snapshots").is_dir():
                yield folder.name.removeprefix(MODELS).replace("--", "/")


def _hub_cache() -> Path:
    """As the hub library finds it, without the time it takes to import that."""
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{user}/huggingface"
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    return Path(os.path.expandvars(named)).expanduser()


def _converted_files() -> list[str]:
    """GGUF files that have been used before, where they still are."""
    known = read_index(cache_folder() / "gguf-checksums.json")
    return [path for path in known if path.lower().endswith(".gguf") and Path(path).is_file()]


def _paths(begin: str) -> Iterator[str]:
    """What stands in the folder that is being typed: folders, and GGUF files."""
    typed, separator, rest = begin.rpartition("/")
    if not separator and not begin.startswith("."):
        return
    with suppress(OSError, RuntimeError):
        for path in sorted(Path(typed + separator or ".").expanduser().iterdir()):
            if not path.name.startswith(rest) or (path.name.startswith(".") and not rest):
                continue
            if path.is_dir():
                yield f"{typed}{separator}{path.name}/"
            elif path.suffix.lower() == ".gguf":
                yield f"{typed}{separator}{path.name}"
