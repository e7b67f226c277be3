"""The profiles that can be named: where they are, and what is to be known of them before one is chosen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import chosen_profile, resolve
from lookahead_cli.profile import profile_folders
from lookahead_cli.profile_file import ENCODING, FaultyProfile

NOT_SAID = '(What it is for: this line is what "lookahead profiles list" says about it.)'
"""What a new profile says about itself until its owner does."""


@dataclass(frozen=True)
class ListedProfile:
    """A file in one of the folders where profiles are looked up."""

    name: str
    file: Path
    model: str | None
    """The source it names, or the default; None where the file is faulty."""
    about: str
    """The comment it begins with; empty if there is none."""
    is_default: bool
    """Whether it is used when none is named."""
    shadowed_by: Path | None
    """The file that is meant by the bare name instead of this one."""
    fault: str | None
    """Why it cannot be used."""


def listed_profiles(environ: Mapping[str, str] | None = None) -> list[ListedProfile]:
    """All of them by name, those of the same name in the order of lookup."""
    environ = os.environ if environ is None else environ
    default: Path | None = None
    with suppress(ProfileError, OSError, RuntimeError):  # the variable names a profile that is not there
        default = chosen_profile(None, environ).resolve()
    first: dict[str, Path] = {}
    found = []
    for folder in different(profile_folders()):
        for file in profile_files(folder):
            winner = first.setdefault(file.stem, file)
            found.append(_listed(file, default, None if winner == file else winner))
    return sorted(found, key=lambda profile: profile.name)  # keeps the order of equals


def different(folders: Iterable[Path]) -> list[Path]:
    """Each folder once: in a checkout the working folder's profiles are those that ship."""
    known: dict[Path, Path] = {}
    for folder in folders:
        with suppress(OSError, RuntimeError):  # one that may not be looked at, or links that lead in a circle
            known.setdefault(folder.resolve(), folder)
    return list(known.values())


def profile_files(folder: Path) -> list[Path]:
    """The profiles in a folder; none where it is not there or may not be read."""
    with suppress(OSError):
        return sorted(file for file in folder.glob("*.toml") if file.is_file())
    return []


def _listed(file: Path, default: Path | None, shadowed_by: Path | None) -> ListedProfile:
    model, fault = None, None
    try:
        model = resolve(str(file), environ={}).settings.model.source
    except FaultyProfile as error:
        fault = str(error.fault).removeprefix(f"{file}, ").removeprefix(f"{file}: ")
    except ProfileError as error:
        fault = str(error)
    is_default = default is not None and file.resolve() == default
    return ListedProfile(file.stem, file, model, first_comment(file), is_default, shadowed_by, fault)


def first_comment(file: Path) -> str:
    """What a profile says about itself: the comment in its first line, if its owner has written one."""
    try:
        with file.open(encoding=ENCODING) as opened:
            line = opened.readline().strip()
    except (OSError, ValueError):
        return ""
    comment = line.removeprefix("#").strip() if line.startswith("#") else ""
    return "" if comment == NOT_SAID else comment
