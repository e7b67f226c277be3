"""Taking models out of the caches: what would go is worked out first, and told, before anything is deleted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from filelock import Timeout

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.knowledge.folder import LOCK, knowledge_folder
from lookahead_cli.models.cache import cache_folder, is_held, leftovers, lock_file, remove_entry
from lookahead_cli.models.cache_entries import converted_entries, packaged_entries
from lookahead_cli.models.entry import Entry, folder_bytes
from lookahead_cli.models.gguf import converted_entry
from lookahead_cli.models.hub_entries import hub_cache, repo_folder, scan
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.sources import Source, recognise

_FEWEST_DIGITS = 7
"""Of a commit, as git shortens it."""


@dataclass(frozen=True)
class Removal:
    """What goes when a model is removed."""

    name: str
    size: int
    """Bytes that this will free, of the model and what is known about it."""
    measured: tuple[Path, ...]
    """Folders that what is deleted lies in, or that go themselves."""
    knowledge: tuple[Path, ...]
    """Folders with what is known about it."""
    locks: tuple[Path, ...]
    """Held by whoever is at work on it."""
    delete: Callable[[], None]
    """Deletes the model, but for `knowledge`. Raises OSError, Timeout."""

    def run(self) -> int:
        """Delete it; how many bytes that has freed.

        Raises:
            ResourceError: it is in use just now, or the disk does not let it go.
        """
        self.refuse_if_busy()
        before = _bytes(self.measured)
        try:
            self.delete()
            for folder in self.knowledge:
                shutil.rmtree(folder)
        except Timeout:
            raise _busy(self.name) from None
        except OSError as error:
            raise ResourceError(
                f"{self.name} could not be removed whole: {error.strerror or error}; check the permissions of "
                f"{self.measured[0]}"
            ) from error
        freed = before - _bytes(self.measured)
        if before and not freed:  # the hub library keeps silent about what it could not delete
            raise ResourceError(f"{self.name} could not be removed; check the permissions of {self.measured[0]}")
        return freed

    def refuse_if_busy(self) -> None:
        """Raise ResourceError if a process is preparing or downloading it, or lets it rehearse."""
        if any(is_held(lock) for lock in self.locks):
            raise _busy(self.name)
        if any(is_held(folder / LOCK) for folder in self.knowledge):
            raise ResourceError(
                f"{self.name} is rehearsing in the background, which takes some minutes: try again when that is over"
            )


def plan_removal(source: str, revision: str = "", progress: Progress = silent) -> Removal:
    """What would go if the model the user calls `source` was removed. `revision` is for hub ids.

    Raises ModelError if nothing of it is here, or if it is a folder of the user's own.
    """
    entries = _entries_called(source, progress)
    if entries and revision:
        raise ModelError(f"--revision goes with a hub id, and {source} is none: leave it out")
    if entries:
        # Nobody is to think that the GGUF file itself goes.
        name = f"the converted copy of {source}" if entries[0].kind == "gguf" else source
        return _of_entries(name, [entry.folder for entry in entries if entry.folder is not None])
    found = recognise(source)
    if found.kind == "hub":
        return _of_repo(source, revision)
    if found.kind == "folder":
        raise _own_folder(found)
    return _of_entries(source, [])


def _entries_called(source: str, progress: Progress) -> list[Entry]:
    """Those in our own cache: by the packaged name, by the GGUF file, there or not, or by the folder itself."""
    every = [*packaged_entries(Wish()), *converted_entries(Wish())]
    try:
        path = Path(source.strip()).expanduser().absolute()
        named = [entry for entry in every if source.strip() == entry.name and entry.kind == "packaged"]
        named = named or [
            entry for entry in every if entry.kind == "gguf" and str(path) in (entry.name, str(entry.folder))
        ]
        if not named and path.is_file() and path.suffix.lower() == ".gguf":
            folder = converted_entry(path, progress)  # the same content may have been converted from another place
            named = [entry for entry in every if entry.folder == folder]
    except (OSError, RuntimeError, ValueError):
        return []
    return [entry for entry in named if entry.state != "not fetched"]


def _of_entries(name: str, folders: list[Path]) -> Removal:
    if not folders:
        raise ModelError(f"nothing of {name} is in the cache folder {cache_folder()}")

    def delete() -> None:
        for folder in folders:
            remove_entry(folder)

    knowledge = _knowledge_of(folders)
    parts = tuple(part for folder in folders for part in (folder, *leftovers(folder)))
    measured = (*parts, *knowledge)
    return Removal(name, _bytes(measured), measured, knowledge, tuple(map(lock_file, folders)), delete)


def _of_repo(repo: str, revision: str) -> Removal:
    folder = repo_folder(repo)
    if not folder.is_dir():
        raise ModelError(f"nothing of {repo} is in the hub's cache {hub_cache()}")
    found = scan()
    cached = next((each for each in found.repos if each.repo_path == folder), None) if found else None
    revisions = list(cached.revisions) if cached is not None else []
    if revision:
        revisions = [_revision(repo, revision, revisions)]
    snapshots = [each.snapshot_path for each in revisions]

    knowledge = _knowledge_of(snapshots)
    measured = (folder, *knowledge)
    locks = tuple((hub_cache() / ".locks" / folder.name).glob("*.lock"))
    size = _bytes(measured)
    if (
        found is None or cached is None
    ):  # of a download that has hardly begun, or damaged: the library knows nothing of it
        return Removal(repo, size, measured, knowledge, locks, partial(shutil.rmtree, folder))
    # The library looks for commits in all repositories, and those that were copied from each other share them.
    alone = replace(found, repos=frozenset({cached}))
    strategy = alone.delete_revisions(*(each.commit_hash for each in revisions))
    if len(revisions) < len(cached.revisions):
        size = strategy.expected_freed_size + _bytes(knowledge)
    return Removal(repo, size, measured, knowledge, locks, strategy.execute)


def _revision(repo: str, wanted: str, revisions: list[Any]) -> Any:
    """The cached revision that a branch, tag or commit names. Raises ModelError."""
    for each in revisions:
        short = len(wanted) >= _FEWEST_DIGITS and each.commit_hash.startswith(wanted)
        if wanted in each.refs or short:
            return each
    there = ", ".join(sorted(min(each.refs, default=each.commit_hash) for each in revisions))
    raise ModelError(f"{repo} has no revision {wanted} in the hub's cache; there is {there or 'none'}")


def _own_folder(found: Source) -> ModelError:
    if hub_cache().resolve() in found.path.resolve().parents:
        return ModelError(f"{found.name} lies in the hub's cache: name it by its hub id, owner/model")
    return ModelError(f"{found.name} is a folder of your own, and no folder of yours is ever deleted: do that yourself")


def _knowledge_of(folders: Iterable[Path]) -> tuple[Path, ...]:
    known = []
    for folder in folders:
        if folder.is_dir() and (knowledge := knowledge_folder(folder)).is_dir():
            known.append(knowledge)
    return tuple(known)


def _bytes(folders: Iterable[Path]) -> int:
    return sum(map(folder_bytes, folders))


def _busy(name: str) -> ResourceError:
    return ResourceError(f"{name} is being prepared or downloaded just now: wait until that is over, or end it")
