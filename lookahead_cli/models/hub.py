"""Models of the Hugging Face Hub: taken from its local cache if they are all there, else downloaded once.

Small files come first and are checked before any weights are fetched, so what would be refused costs no download,
and a cached snapshot that has all its weights has everything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lookahead_cli.errors import LookaheadError, ModelError, ResourceError
from lookahead_cli.models.failures import disk_failure, first_line
from lookahead_cli.models.folder import (
    PICKLE,
    PICKLE_INDEX,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    check_folder,
    read_json,
    shard_names,
)
from lookahead_cli.models.hugging_face import silence_hub, small_pieces
from lookahead_cli.models.progress import ByteShare, Progress, silent
from lookahead_cli.models.safety import PICKLE as PICKLE_WEIGHTS
from lookahead_cli.models.safety import PICKLE_SUFFIXES, REMOTE_CODE, refuse_pickle, refuse_remote_code

# Configuration, tokenizer and chat template; never weights, never code.
_SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
_CODE_FILES = ("*.py",)
_NOT_YOU = (401, 403)  # HTTP: unauthorised, forbidden


def hub_folder(repo: str, revision: str, allow: frozenset[str], progress: Progress = silent) -> Path:
    """The local snapshot of the hub model `repo` ("owner/name"), downloaded now if it is not complete.

    `revision` "" means the main branch. Raises ModelError for a model that does not exist or is refused,
    ResourceError without network or disk space.
    """
    silence_hub()
    with _told(repo, revision):
        cached, refusal = _cached_folder(repo, revision, allow)
        if cached is not None:
            return cached
        try:
            return _downloaded_folder(repo, revision, allow, progress)
        except ModelError:
            raise
        except Exception:
            if refusal is not None:  # without the network, what is wrong with the copy here is the better answer
                raise refusal from None
            raise


def cached_folder(repo: str, revision: str, allow: frozenset[str]) -> Path | None:
    """The snapshot that `hub_folder` would give without a download, or None. Asks nobody."""
    silence_hub()
    with _told(repo, revision):
        return _cached_folder(repo, revision, allow)[0]


def readable_folder(repo: str, revision: str) -> Path | None:
    """The snapshot in the local cache if there is all of it, be it of a kind that may be run or not."""
    silence_hub()
    with _told(repo, revision):
        folder = _snapshot(repo, revision)
        try:
            if folder is not None:
                check_folder(folder, frozenset({PICKLE_WEIGHTS, REMOTE_CODE}), repo)
        except ModelError:
            return None
        return folder


def _snapshot(repo: str, revision: str) -> Path | None:
    """The snapshot in the local cache that has a config.json, whatever else is there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        # Only config.json is asked for: what else must be there `check_folder` knows better than a listing of the hub.
        return Path(
            snapshot_download(repo, revision=revision or None, local_files_only=True, allow_patterns=["config.json"])
        )
    except LocalEntryNotFoundError:
        return None


def _cached_folder(repo: str, revision: str, allow: frozenset[str]) -> tuple[Path | None, ModelError | None]:
    """The complete snapshot in the local cache, found without any request; or None, and what is wrong with it."""
    folder = _snapshot(repo, revision)
    if folder is None:
        return None, None
    try:
        check_folder(folder, allow, repo)
        missing = [name for name in _own_code(folder) if not (folder / name).is_file()]
    except ModelError as error:
        # An interrupted download, or something refused: fetching the small files will tell which.
        return None, error
    return (None, None) if missing and REMOTE_CODE in allow else (folder, None)


def _own_code(folder: Path) -> list[str]:
    """The Python files that the config names as the model's own."""
    classes = (read_json(folder / "config.json").get("auto_map") or {}).values()
    # "--" stands between another repository, which holds the code, and the class.
    return sorted({f"{name.partition('.')[0]}.py" for name in classes if isinstance(name, str) and "--" not in name})


@dataclass(frozen=True)
class Published:
    """What the hub has of a model, its small files being here."""

    folder: Path
    """The snapshot, with the small files."""
    sizes: dict[str, int]
    """Of every file of the repository."""
    parameters: dict[str, int]
    """How many weights there are of each dtype ("BF16"), where the hub says."""

    def weights(self, repo: str) -> dict[str, int]:
        """The weight files with their sizes, whatever they are. Raises ModelError if there are none."""
        named = _weight_names(repo, self.folder, list(self.sizes), frozenset({PICKLE_WEIGHTS, REMOTE_CODE}))
        return {name: self.sizes[name] for name in named}


def look_up(repo: str, revision: str, progress: Progress = silent) -> Published:
    """What the hub has of the model `repo`; configuration and tokenizer are downloaded, no weights.

    Raises ModelError for a model that does not exist, ResourceError without network or disk space.
    """
    silence_hub()
    with _told(repo, revision):
        return _look_up(repo, revision, frozenset(), progress)


def _downloaded_folder(repo: str, revision: str, allow: frozenset[str], progress: Progress) -> Path:
    published = _look_up(repo, revision, allow, progress)
    documents = {file.name: read_json(file) for file in published.folder.glob("*config.json")}
    refuse_remote_code(repo, documents, allow)
    weights = _weight_names(repo, published.folder, list(published.sizes), allow)
    _fetch(repo, revision, weights, progress, sum(published.sizes[name] for name in weights))
    check_folder(published.folder, allow, repo)
    return published.folder


def _look_up(repo: str, revision: str, allow: frozenset[str], progress: Progress) -> Published:
    from huggingface_hub import HfApi

    progress(f"looking up {repo}")
    found = HfApi().model_info(repo, revision=revision or None, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in found.siblings or []}
    names = list(sizes)
    patterns = [*_SMALL_FILES, *(_CODE_FILES if REMOTE_CODE in allow else ())]
    templates = [name for name in names if name.startswith("additional_chat_templates/")]
    small = [name for name in names if "/" not in name and _matches(name, patterns)] + templates
    if "config.json" not in names:
        raise ModelError(_without_config(repo, names))
    folder = _fetch(repo, revision, small, progress)
    return Published(folder, sizes, dict(found.safetensors.parameters) if found.safetensors else {})


def _weight_names(repo: str, folder: Path, names: list[str], allow: frozenset[str]) -> list[str]:
    """The files of the repository that hold the weights, safetensors before pickle."""
    pickles = [name for name in names if "/" not in name and name.endswith(PICKLE_SUFFIXES)]
    for single, index in ((SAFETENSORS, SAFETENSORS_INDEX), (PICKLE, PICKLE_INDEX)):
        if single == PICKLE and pickles:
            refuse_pickle(repo, pickles, allow)
        if single in names:
            return [single]
        if index in names:
            # Downloads are chosen by patterns, and a name in an index could be one: only real files count.
            return [name for name in shard_names(folder / index) if name in names]
    raise ModelError(
        f"{repo} has no weights that can be loaded: there is no {SAFETENSORS} in it; choose a model that has one."
    )


def _matches(name: str, patterns: list[str]) -> bool:
    from fnmatch import fnmatch

    return any(fnmatch(name, pattern) for pattern in patterns)


def _without_config(repo: str, names: list[str]) -> str:
    ggufs = sorted(name for name in names if name.endswith(".gguf"))
    if ggufs:
        return f"{repo} holds GGUF files only; download one of them, such as {ggufs[0]}, and name the file."
    return f"{repo} is not a model for transformers: it has no config.json; choose another model."


def _fetch(repo: str, revision: str, names: list[str], progress: Progress, size: int = 0) -> Path:
    """Download exactly `names`, of `size` bytes together if that is known, and return the snapshot folder."""
    from huggingface_hub import snapshot_download

    stopped = threading.Event()
    download = partial(
        snapshot_download,
        repo,
        revision=revision or None,
        allow_patterns=names,
        tqdm_class=_bar_class(f"downloading {repo}", size, progress, stopped),
    )
    # The library waits for the files under way before it lets Ctrl-C through, which can take an hour. So it runs aside,
    # and what it calls for each piece makes it stop.
    with small_pieces(), ThreadPoolExecutor(max_workers=1) as aside:
        try:
            return Path(aside.submit(download).result())
        except BaseException:
            stopped.set()
            raise


class _StoppedError(Exception):
    """Somebody has pressed Ctrl-C."""


def _bar_class(activity: str, size: int, progress: Progress, stopped: threading.Event) -> type[Any]:
    """A tqdm class that draws nothing and tells `progress` how many of the `size` bytes are on disk.

    Once `stopped` is set, the next piece of a file ends its download.
    """
    from importlib import import_module

    tqdm: Any = import_module("tqdm").tqdm  # it has no type information
    lock = threading.Lock()

    class ReportingBar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # An extension of the hub library's own bars. The one named so counts what the network brought: compressed.
            transfer = str(kwargs.pop("name", "")).endswith(".transfer")
            self.counts_bytes = kwargs.get("unit") == "B" and not transfer
            super().__init__(*args, **{**kwargs, "disable": True})
            self.total = kwargs.get("total")  # a disabled bar forgets it

        def update(self, n: float | None = 1) -> None:
            if stopped.is_set():
                raise _StoppedError
            with lock:
                self.n += n or 0
                total = size or self.total  # the bar's own total grows with each file that is begun
                if self.counts_bytes and total:
                    progress(activity, ByteShare(self.n, round(total)))

    return ReportingBar


@contextmanager
def _told(repo: str, revision: str) -> Iterator[None]:
    """Say in one sentence what stopped the download of `repo`."""
    from huggingface_hub import errors

    at = f" at revision {revision}" if revision else ""
    try:
        yield
    except LookaheadError:
        raise
    except errors.GatedRepoError as error:
        raise ModelError(
            f"{repo} is gated: its owner must grant you access on the hub; ask there, then log in with `hf auth login`."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelError(f"{repo} has no revision {revision}; check the branch, tag or commit.") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise ModelError(
            f"{repo} is neither a folder here nor a model on the hub that you may read; check the spelling, and "
            "for a private model log in with `hf auth login`."
        ) from error
    except errors.OfflineModeIsEnabled as error:
        raise ResourceError(
            f"{repo}{at} is not complete in the local cache, and HF_HUB_OFFLINE forbids the download; unset it once."
        ) from error
    except Exception as error:
        full = disk_failure(error, f"{repo} cannot be stored in the hub's cache folder", "HF_HOME")
        if full is not None:
            raise full from error
        if isinstance(error, errors.HfHubHTTPError):
            if error.response.status_code in _NOT_YOU:
                raise ModelError(
                    f"The hub does not let you read {repo}; log in with `hf auth login`, or renew an old token."
                ) from error
            raise ResourceError(f"{repo} could not be downloaded ({first_line(error)}); try again later.") from error
        raise ResourceError(
            f"{repo}{at} is not complete in the local cache and could not be downloaded ({first_line(error)}); "
            "connect to the network for this one time."
        ) from error
