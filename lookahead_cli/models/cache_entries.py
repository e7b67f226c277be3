"""What is in our own cache folder: packaged models and converted GGUF files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lookahead_cli.errors import ModelError
from lookahead_cli.models.cache import cache_folder, is_finished, is_locked, leftovers
from lookahead_cli.models.entry import Entry, State, described, folder_bytes
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.gguf import CONVERTED, ORIGIN, checksum_index, entry_for
from lookahead_cli.models.index import read_index
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.packaged import PACKAGED, packaged_entry

STAGING = ".staging-"
OUTDATED = "another version of lookahead made it, and this one does not use it"


def packaged_entries(wish: Wish) -> Iterator[Entry]:
    """Every packaged model, whether it is here or not, and what earlier versions of this program made of it."""
    for model in PACKAGED.values():
        current = packaged_entry(model)
        yield _packaged(model.name, current, wish)
        for folder in _entries(f"{model.name}-"):
            if folder != current:
                yield Entry("packaged", model.name, "outdated", OUTDATED, folder, size=_bytes(folder))


def converted_entries(wish: Wish) -> Iterator[Entry]:
    """Every GGUF file that has been converted, by the name of the file where that is known."""
    origins = Origins(read_index(checksum_index()))
    for folder in _entries(CONVERTED):
        file = origins.of(folder)
        name = str(file or folder)
        if entry_for(folder.name.removeprefix(CONVERTED)).name != folder.name:
            yield Entry("gguf", name, "outdated", OUTDATED, folder, size=_bytes(folder))
        elif (unfinished := _unfinished(folder)) is not None:
            yield Entry("gguf", name, *unfinished, folder, size=_bytes(folder))
        else:
            state: State = "ready" if file is not None and origins.is_still(file, folder) else "file gone"
            why = "" if state == "ready" else f"the GGUF file is not there any more; -m {folder} still works"
            yield _finished(Entry("gguf", name, state, why, folder, size=_bytes(folder)), folder, wish)


def _packaged(name: str, folder: Path, wish: Wish) -> Entry:
    if (unfinished := _unfinished(folder)) is not None:
        return Entry("packaged", name, *unfinished, folder, size=_bytes(folder))
    if not folder.exists():
        return Entry("packaged", name, "not fetched")
    return _finished(Entry("packaged", name, "ready", folder=folder, size=_bytes(folder)), folder, wish)


def _finished(entry: Entry, folder: Path, wish: Wish) -> Entry:
    try:
        return described(entry, folder, check_folder(folder, frozenset(), entry.name), wish)
    except ModelError as error:
        return replace(entry, state="broken", why=str(error))


def _unfinished(folder: Path) -> tuple[State, str] | None:
    """Why the entry `folder` cannot be used; None if it can, or if there is nothing at all."""
    if is_finished(folder):
        return None
    if is_locked(folder):
        return "in preparation", "another lookahead is at it"
    if folder.exists():
        return "broken", "files are missing or cut short; the next use prepares it anew"
    if leftovers(folder):
        return "incomplete", "its preparation was killed; the next use begins anew"
    return None


def _entries(prefix: str) -> list[Path]:
    """Entries whose names begin so, those that are only being built too."""
    names = set()
    with suppress(OSError):
        for folder in (cache_folder() / "models").iterdir():
            if folder.name.startswith(STAGING):
                names.add(folder.name.removeprefix(STAGING).rpartition("-")[0])
            elif folder.is_dir():
                names.add(folder.name)
    return [cache_folder() / "models" / name for name in sorted(names) if name.startswith(prefix)]


def _bytes(folder: Path) -> int:
    return sum(folder_bytes(part) for part in (folder, *leftovers(folder)))


@dataclass(frozen=True)
class Origins:
    """Which GGUF file a converted folder was made from."""

    index: dict[str, object]
    """What the checksum index holds: path -> size, modification time, checksum."""

    def of(self, folder: Path) -> Path | None:
        """The file, the likeliest if there are several; it need not be there any more."""
        candidates = []
        if (folder / ORIGIN).is_file():
            with suppress(ModelError):
                candidates.append(Path(str(read_json(folder / ORIGIN).get("gguf"))))
        candidates += [Path(path) for path in self.index if self._digest(path).startswith(_digits(folder))]
        # A file of the hub's cache is remembered by the place of its content, which has no ending.
        candidates.sort(key=lambda file: (not self.is_still(file, folder), file.suffix.lower() != ".gguf"))
        return candidates[0] if candidates else None

    def is_still(self, file: Path, folder: Path) -> bool:
        """Whether `file` is there with the content that `folder` was made from, as far as one can tell unread."""
        try:
            status = file.stat()
            known = self.index.get(str(file.resolve()))
        except (OSError, RuntimeError):
            return False
        match known:
            case [size, modified, str(digest)] if [size, modified] == [status.st_size, status.st_mtime_ns]:
                return digest.startswith(_digits(folder))
        return known is None

    def _digest(self, path: str) -> str:
        match self.index.get(path):
            case [_, _, str(digest)]:
                return digest
        return ""


def _digits(folder: Path) -> str:
    """The part of the checksum that is in an entry's name."""
    return folder.name.removeprefix(CONVERTED).partition("-")[0]
