"""A new profile: every key with what it means, commented out, but for those that are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookahead_cli.batch.text_files import safe_name
from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.layers import Key, Origin, validated
from lookahead_cli.models.sources import spelled_out
from lookahead_cli.models.whole_file import written_whole
from lookahead_cli.profile import shipped_profiles, user_profiles
from lookahead_cli.profile_check import clash
from lookahead_cli.profile_listing import NOT_SAID
from lookahead_cli.text.prompt import is_unicode
from lookahead_cli.toml_text import toml_value

TEMPLATE = "template"
"""The profile that shows every key with its default."""
HEADER = f"""\
# {NOT_SAID}
# Keys behind a # have their defaults: take the # away and change them. Flags beat environment variables beat this file.
"""
HEADING = re.compile(r"\[(\w+)\]")
ASSIGNMENT = re.compile(r"(\w+) = ")
ENDING = ".toml"
SOURCES = (("model", "source"), ("draft", "source"))
"""Keys that may name a file or folder."""


def place_for(name: str) -> Path:
    """The file of a profile that is to be written: in the user's folder, unless `name` is a path.

    Raises:
        ProfileError: there can be no file of that name.
    """
    path = Path(name)
    if len(path.parts) > 1 or path.suffix == ENDING:
        try:
            path = path.expanduser()
        except RuntimeError as error:  # no such user behind ~
            raise ProfileError(f'profile "{name}": {error}') from None
        return path if path.suffix == ENDING else path.with_name(f"{path.name}{ENDING}")
    if not is_unicode(name) or safe_name(name) != name:
        raise ProfileError(
            f'profile "{name}": this cannot be a file name everywhere; take letters, digits, - and _, not too many'
        )
    return user_profiles() / f"{name}{ENDING}"


def new_profile(given: Mapping[tuple[str, Key], Any]) -> str:
    """The text of a profile that sets what is `given` (what to call it, key) and nothing else.

    Raises:
        ProfileError: something is not allowed.
    """
    layers = [(value, Origin("option", name, key)) for (name, key), value in given.items()]
    settings = validated(layers)
    if (wrong := clash(settings)) is not None:
        raise ProfileError(f"{next(name for name, key in given if key == wrong[0])}: {wrong[1]}")
    values = settings.model_dump(mode="json")
    chosen = {key: values[key[0]][key[1]] for _, key in given}
    for key in SOURCES:
        if chosen.get(key):
            chosen[key] = spelled_out(chosen[key])
    template = (shipped_profiles() / f"{TEMPLATE}{ENDING}").read_text(encoding="utf-8")
    return HEADER + "\n" + filled(template[template.index("\n[") + 1 :], chosen)


def filled(template: str, chosen: Mapping[Key, Any]) -> str:
    """The template with what is chosen in its place, and every other key commented out."""
    section = ""
    lines = []
    for line in template.splitlines():
        if heading := HEADING.match(line):
            section = heading[1]
        elif assignment := ASSIGNMENT.match(line):
            key = (section, assignment[1])
            line = f"{key[1]} = {toml_value(chosen[key])}" if key in chosen else f"#{line}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def write_profile(file: Path, text: str, *, replace: bool) -> None:
    """Write it, whole or not at all. The user's own folder is made if it is missing, no other one.

    Raises:
        ProfileError: there is such a file and it is not to be replaced, or no such folder.
        ResourceError: it cannot be written.
    """
    try:
        if file.exists() and not replace:
            raise ProfileError(f"profile {file}: it is there already; give --force to replace it, or another name")
        if file.parent != user_profiles() and not file.parent.is_dir():
            raise ProfileError(f"profile {file}: there is no folder {file.parent}; make it first")
        with written_whole(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:  # a NUL in the path is the latter
        reason = getattr(error, "strerror", None) or error
        raise ResourceError(f"profile {file} could not be written: {reason}") from None
