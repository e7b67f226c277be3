"""From what the user calls a model to a folder on this machine that holds it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lookahead_cli.errors import ModelError
from lookahead_cli.models.cache import is_finished
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.folder import check_folder
from lookahead_cli.models.packaged import PACKAGED, packaged_entry, packaged_folder
from lookahead_cli.models.progress import Progress, silent

_PATH_STARTS = (".", "/", "~", "\\")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Source:
    """What the user means by a name."""

    kind: Literal["packaged", "folder", "gguf", "hub"]
    name: str
    path: Path
    """Of a folder or file; for the other kinds it means nothing."""


def recognise(source: str) -> Source:
    """What `source` is: a packaged name, a model folder, a `.gguf` file or a hub id.

    What exists on disk wins over a hub id. Raises ModelError for a source that is none of these.
    """
    source = source.strip()
    if not source:
        raise ModelError(f"The model has no name; {_choices()}.")
    if source in PACKAGED:
        return Source("packaged", source, Path())
    try:
        path = Path(source).expanduser().absolute()
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, RuntimeError) as error:  # no permission, a name too long, no such user behind ~
        raise ModelError(f"{source} cannot be read ({first_line(error)}); check the path.") from error
    if is_folder:
        return Source("folder", source, path)
    if is_file:
        if path.suffix.lower() != ".gguf":
            raise ModelError(
                f"{source} is a file but not a .gguf file; name the folder that holds config.json and the weights."
            )
        return Source("gguf", source, path)
    if source.startswith(_PATH_STARTS) or source.lower().endswith(".gguf") or _DRIVE.match(source):
        raise ModelError(f"{source}: no such file or folder; check the path, or name a hub id such as owner/model.")
    if _HUB_ID.fullmatch(source):
        return Source("hub", source, path)
    raise ModelError(f"{source} is not a model this tool knows{_nearest(source)}; {_choices()}.")


def spelled_out(source: str) -> str:
    """A source that means the same from any folder: what lies on this machine by its whole path."""
    source = source.strip()
    if source in PACKAGED:
        return source
    try:
        path = Path(source).expanduser().absolute()
        is_here = path.exists()
    except (OSError, RuntimeError):
        return source
    return str(path) if is_here or source.startswith(_PATH_STARTS) else source


def locate(
    source: str, *, revision: str = "", allow: frozenset[str] = frozenset(), progress: Progress = silent
) -> Path:
    """Folder with config.json, safetensors weights and tokenizer, ready to load without the network.

    `source` is what `recognise` takes. `revision` is a branch, tag or commit, for hub ids only. `allow` may hold
    "pickle" and "remote-code".
    Raises ModelError for a source that cannot be used, ResourceError when network, disk or memory is lacking.
    """
    found = recognise(source)
    if found.kind == "packaged":
        return packaged_folder(PACKAGED[found.name], progress)
    if found.kind == "folder":
        check_folder(found.path, allow, found.name)
        return found.path
    if found.kind == "gguf":
        from lookahead_cli.models.gguf import converted_folder

        return converted_folder(found.path, progress)
    from lookahead_cli.models.hub import hub_folder

    return hub_folder(found.name, revision, allow, progress)


def present_folder(
    found: Source, *, revision: str = "", allow: frozenset[str] = frozenset(), progress: Progress = silent
) -> Path | None:
    """The folder that `locate` would give, if nothing had to be fetched or prepared for it; else None.

    Raises ModelError for a source that cannot be used.
    """
    if found.kind == "hub":
        from lookahead_cli.models.hub import cached_folder

        return cached_folder(found.name, revision, allow)
    if found.kind == "folder":
        check_folder(found.path, allow, found.name)
        return found.path
    if found.kind == "packaged":
        entry = packaged_entry(PACKAGED[found.name])
    else:
        from lookahead_cli.models.gguf import converted_entry

        entry = converted_entry(found.path, progress)
    return entry if is_finished(entry) else None


def _nearest(source: str) -> str:
    close = difflib.get_close_matches(source.lower(), PACKAGED, n=1, cutoff=0.4)
    return f" (did you mean {close[0]}?)" if close else ""


def _choices() -> str:
    return (
        f"a model is a packaged name ({', '.join(PACKAGED)}), a folder with safetensors and tokenizer, a .gguf file, "
        "or a hub id such as owner/model"
    )
