"""The cache folder, and how an entry gets into it: built once, completely or not at all.

An entry is a folder. It is built in a staging folder beside its final place and renamed when finished, so whoever
sees the entry sees all of it. A lock per entry makes two processes that start together share one build.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lookahead_cli.errors import LookaheadError, ResourceError
from lookahead_cli.models.failures import disk_failure
from lookahead_cli.models.progress import Progress

# Lists every file of a finished entry with its size: a file cut short or deleted later is noticed without hashing.
CONTENTS = "contents.json"


def cache_folder() -> Path:
    """Where prepared models are kept: the environment variable LOOKAHEAD_CACHE, else the user's cache folder."""
    override = os.environ.get("LOOKAHEAD_CACHE")
    if override:
        try:
            return Path(override).expanduser().absolute()
        except (RuntimeError, OSError) as error:
            raise ResourceError(f"LOOKAHEAD_CACHE is {override}: {error}; set it to a folder.") from None
    from platformdirs import user_cache_path

    return user_cache_path("lookahead")


def is_finished(entry: Path) -> bool:
    """Whether `entry` is there with every file at its recorded size. Reads file sizes only, never contents."""
    try:
        sizes: dict[str, int] = json.loads((entry / CONTENTS).read_text(encoding="utf-8"))
        return all((entry / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def build_once(entry: Path, name: str, build: Callable[[Path], None], progress: Progress) -> Path:
    """Return the finished `entry`, calling `build(staging_folder)` under a lock if it does not exist yet.

    `name` is what the user calls it. Whatever ends the build, the staging folder goes; a disk that is full or
    not writable is a ResourceError.
    """
    if is_finished(entry):
        return entry
    with _room_for(entry, name), _locked(entry, name, progress):
        if is_finished(entry):  # another process built it while this one waited
            return entry
        _remove_leftovers(entry)
        staging = Path(tempfile.mkdtemp(prefix=_staging_prefix(entry), dir=entry.parent))
        try:
            # mkdtemp makes a folder only its owner may read, but a cache can be shared by several users.
            staging.chmod(0o755)
            build(staging)
            sizes = {}
            for file in sorted(staging.iterdir()):
                file.chmod(0o644)  # safetensors files begin as private ones, too
                sizes[file.name] = file.stat().st_size
            (staging / CONTENTS).write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
            os.replace(staging, entry)  # noqa: PTH105 - patched in tests as the call that makes the entry visible
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return entry


def is_locked(entry: Path) -> bool:
    """Whether some process is building or removing `entry` right now."""
    return is_held(lock_file(entry))


def is_held(lock: Path) -> bool:
    """Whether some process holds this lock file. One that is not there is not made."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # somebody else's cache, only for reading
        return False


def remove_entry(entry: Path) -> None:
    """Delete `entry` and what killed processes have left of it. Raises Timeout if it is being built, OSError."""
    with FileLock(lock_file(entry), timeout=0):
        _remove_leftovers(entry)


def leftovers(entry: Path) -> list[Path]:
    """The staging folders of `entry`: of a build that is going on, or of one that was killed."""
    return sorted(entry.parent.glob(f"{glob.escape(_staging_prefix(entry))}*"))


def lock_file(entry: Path) -> Path:
    """What whoever builds or removes `entry` holds."""
    return entry.parent / f".{entry.name}.lock"


def require_free_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise a ResourceError with both numbers if the disk of `folder` has less than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ResourceError(
            f"{purpose} needs {_megabytes(needed)} on the disk of {cache_folder()}, but only {_megabytes(free)} "
            "is free; make room, or point the environment variable LOOKAHEAD_CACHE to another disk."
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _staging_prefix(entry: Path) -> str:
    return f".staging-{entry.name}-"


def _remove_leftovers(entry: Path) -> None:
    """Delete what a killed process left behind, and an entry that lost files. Call it only under the lock."""
    for leftover in leftovers(entry):
        shutil.rmtree(leftover, ignore_errors=True)
    if entry.exists():
        shutil.rmtree(entry)


@contextmanager
def _room_for(entry: Path, name: str) -> Iterator[None]:
    """Make the folder around `entry`; turn every disk error inside into one sentence about the cache folder."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        yield
    except LookaheadError:
        raise
    except Exception as error:
        failure = disk_failure(error, f"{name} cannot be stored in the cache folder {entry.parent}")
        if failure is None and isinstance(error, OSError):
            failure = ResourceError(
                f"{name} cannot be stored in the cache folder {entry.parent} ({error.strerror or error}); "
                "set LOOKAHEAD_CACHE to a folder on another disk."
            )
        if failure is None:
            raise
        raise failure from error


@contextmanager
def _locked(entry: Path, name: str, progress: Progress) -> Iterator[None]:
    lock = FileLock(lock_file(entry))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(f"waiting for another lookahead to finish preparing {name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
