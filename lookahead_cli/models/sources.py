"""From what the user calls a model to a folder on this machine that holds it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from lookahead_cli.errors import ModelError
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.folder import check_folder
from lookahead_cli.models.packaged import PACKAGED, packaged_folder
from lookahead_cli.models.progress import Progress, silent

_PATH_STARTS = (".", "/", "~", "\\")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def locate(
    source: str, *, revision: str = "", allow: frozenset[str] = frozenset(), progress: Progress = silent
) -> Path:
    """Folder with config.json, safetensors weights and tokenizer, ready to load without the network.

    `source` is a packaged name, a model folder, a `.gguf` file or a hub id; what exists on disk wins over a hub id.
    `revision` is a branch, tag or commit, for hub ids only. `allow` may hold "pickle" and "remote-code".
    Raises ModelError for a source that cannot be used, ResourceError when network, disk or memory is lacking.
    """
    source = source.strip()
    if not source:
        raise ModelError(f"The model has no name; {_choices()}.")
    if source in PACKAGED:
        return packaged_folder(PACKAGED[source], progress)
    try:
        path = Path(source).expanduser().absolute()
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, RuntimeError) as error:  # no permission, a name too long, no such user behind ~
        raise ModelError(f"{source} cannot be read ({first_line(error)}); check the path.") from error
    if is_folder:
        check_folder(path, allow, source)
        return path
    if is_file:
        return _from_file(path, source, progress)
    if source.startswith(_PATH_STARTS) or source.lower().endswith(".gguf") or _DRIVE.match(source):
        raise ModelError(f"{source}: no such file or folder; check the path, or name a hub id such as owner/model.")
    if _HUB_ID.fullmatch(source):
        from lookahead_cli.models.hub import hub_folder

        return hub_folder(source, revision, allow, progress)
    raise ModelError(f"{source} is not a model this tool knows{_nearest(source)}; {_choices()}.")


def names_hub_model(source: str) -> bool:
    """Whether `locate` would take it for a hub id: nothing on this machine is called so, and it has the form of one."""
    try:
        if Path(source).expanduser().exists():
            return False
    except (OSError, RuntimeError):
        return False
    is_path = source.startswith(_PATH_STARTS) or source.lower().endswith(".gguf") or _DRIVE.match(source)
    return not is_path and _HUB_ID.fullmatch(source) is not None


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


def _from_file(path: Path, source: str, progress: Progress) -> Path:
    if path.suffix.lower() != ".gguf":
        raise ModelError(
            f"{source} is a file but not a .gguf file; name the folder that holds config.json and the weights."
        )
    from lookahead_cli.models.gguf import converted_folder

    return converted_folder(path, progress)


def _nearest(source: str) -> str:
    close = difflib.get_close_matches(source.lower(), PACKAGED, n=1, cutoff=0.4)
    return f" (did you mean {close[0]}?)" if close else ""


def _choices() -> str:
    return (
        f"a model is a packaged name ({', '.join(PACKAGED)}), a folder with safetensors and tokenizer, a .gguf file, "
        "or a hub id such as owner/model"
    )
