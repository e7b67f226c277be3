"""What is in the cache of the Hugging Face hub, which other programs share with us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookahead_cli.errors import ModelError
from lookahead_cli.models.entry import Entry, State, described, folder_bytes
from lookahead_cli.models.facts import Facts, config_facts, gguf_config, gguf_facts
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.gguf_header import read_header
from lookahead_cli.models.hugging_face import silence_hub
from lookahead_cli.models.known_names import MODELS
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.plan import plan
from lookahead_cli.models.safety import PICKLE, REMOTE_CODE

if TYPE_CHECKING:
    from huggingface_hub import HFCacheInfo

MAIN = "main"
_ANYTHING = frozenset({PICKLE, REMOTE_CODE})
"""To look at a model is no risk."""


def hub_cache() -> Path:
    """The folder of the hub's cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def repo_folder(repo: str) -> Path:
    """Where the hub's cache keeps a model, as `scan` names it."""
    return hub_cache().resolve() / f"{MODELS}{repo.replace('/', '--')}"


def scan() -> HFCacheInfo | None:
    """What the hub library finds in its cache; None if there is no cache, or it cannot be read."""
    silence_hub()
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        return scan_cache_dir(hub_cache())
    except (CacheNotFound, OSError, ValueError):
        return None


def hub_entries(wish: Wish) -> Iterator[Entry]:
    """Every model there, a revision each; GGUF files by themselves. What is no language model is there too."""
    found = scan()
    repos = {repo.repo_path: repo for repo in found.repos} if found else {}
    folders: list[Path] = []
    with suppress(OSError):
        folders = sorted(path for path in hub_cache().resolve().iterdir() if path.name.startswith(MODELS))
    for folder in folders:
        repo = repos.get(folder)
        if repo is None:
            said = (str(warning) for warning in found.warnings) if found else ()
            told = "it cannot be read" if found else _why_unscanned()
            yield _unreadable(folder, next((line for line in said if str(folder) in line), told))
            continue
        for revision in sorted(repo.revisions, key=lambda revision: (MAIN not in revision.refs, sorted(revision.refs))):
            yield from _revision_entries(repo.repo_id, revision, _half_files(folder), wish)


def _why_unscanned() -> str:
    """Why the hub library sees no model at all: one damaged file is enough."""
    with suppress(OSError):
        for file in filter(Path.is_file, hub_cache().resolve().glob("*--*/refs/**/*")):
            try:
                file.read_text(encoding="utf-8")
            except (OSError, ValueError):
                return f"nothing in the hub's cache can be told while {file} is damaged; remove that file"
    return "the hub's cache cannot be read"


def _unreadable(folder: Path, why: str) -> Entry:
    """Of a folder the hub library does not understand: that is how a download looks that has hardly begun, too."""
    name = folder.name.removeprefix(MODELS).replace("--", "/")
    has_files = any(path.is_file() for path in folder.glob("snapshots/*/*"))
    state: State = "broken" if has_files else "incomplete"
    told = why if has_files else "the download has hardly begun"
    return Entry("hub", name, state, told, folder, size=folder_bytes(folder))


def _half_files(folder: Path) -> int:
    """Bytes of files whose download was cut off."""
    total = 0
    for file in folder.glob("blobs/*.incomplete"):
        with suppress(OSError):
            total += file.stat().st_size
    return total


def _revision_entries(repo: str, revision: Any, half: int, wish: Wish) -> Iterator[Entry]:
    folder: Path = revision.snapshot_path
    named = "" if MAIN in revision.refs else min(revision.refs, default=revision.commit_hash)
    ggufs = sorted(folder.glob("*.gguf"))
    if ggufs and not (folder / "config.json").is_file():
        yield from (_gguf_entry(file, named, wish) for file in ggufs)
        return
    entry = Entry("hub", repo, "ready", "", folder, named, revision.size_on_disk + half)
    try:
        weights = check_folder(folder, _ANYTHING, repo)
        entry = described(entry, folder, weights, wish)
    except ModelError as error:
        yield replace(entry, state="incomplete", why=str(error), facts=None if half else _small_facts(folder))
        return
    unpickled = PICKLE in wish.allow or all(file.suffix == ".safetensors" for file in weights)
    yield entry if unpickled else replace(entry, state="refused", why=PICKLES)


PICKLES = f'its weights are pickle files; a profile with allow = ["{PICKLE}"] takes them'


def _small_facts(folder: Path) -> Facts | None:
    """What config.json alone says. A repository without one holds no language model."""
    try:
        return config_facts(read_json(folder / "config.json") if (folder / "config.json").exists() else {}, {})
    except ModelError:
        return None


def _gguf_entry(file: Path, revision: str, wish: Wish) -> Entry:
    size = 0
    try:
        size = file.stat().st_size
        header = read_header(file)
    except (ModelError, OSError) as error:
        return Entry("gguf", str(file), "broken", str(error), file.parent, revision, size)
    return Entry(
        "gguf", str(file), "not converted", "its first use does that", file.parent, revision, size,
        gguf_facts(header), plan(gguf_config(header), (), wish, None),
    )  # fmt: skip
