"""Flags over environment over profile over defaults; and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli
from pydantic import ValidationError

from lookahead_cli.errors import ProfileError
from lookahead_cli.profile import (
    SECTIONS,
    Settings,
    allowed,
    choices,
    default_profile,
    find_profile,
    nearest,
    read_profile,
)
from lookahead_cli.text.prompt import is_unicode

PROFILE_VARIABLE = "LOOKAHEAD_PROFILE"
PROFILE_ONLY = {("model", "allow")}
"""Risks are taken in a profile, by name, where they can be seen; not by a variable that happens to be set."""

Key = tuple[str, str]
"""Section and key."""


@dataclass(frozen=True)
class Resolved:
    """Validated settings and, for every value that is not a default, where it came from."""

    settings: Settings
    profile: Path
    origins: dict[Key, str]


def variable(section: str, key: str) -> str:
    """The environment variable that sets a key."""
    return "LOOKAHEAD_MODEL" if (section, key) == ("model", "source") else f"LOOKAHEAD_{key.upper()}"


def resolve(
    profile: str | None = None,
    flags: Mapping[tuple[str, Key], Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Settings from all layers.

    `profile` is a name or path (else LOOKAHEAD_PROFILE, else the default one). `flags` maps (flag as typed, key) to
    what was given; None means not given.

    Raises:
        ProfileError: something is not allowed; the message names the place, the value and what is.
    """
    environ = os.environ if environ is None else environ
    name = profile or environ.get(PROFILE_VARIABLE)
    path = find_profile(name) if name else default_profile()

    values: dict[str, dict[str, Any]] = {}
    origins: dict[Key, str] = {}

    def put(key: Key, value: Any, origin: str) -> None:
        texts = value if isinstance(value, list) else [value]
        if not all(is_unicode(text) for text in texts if isinstance(text, str)):
            raise ProfileError(f"{origin}: this is not UTF-8 text; give it as UTF-8")
        values.setdefault(key[0], {})[key[1]] = value
        origins[key] = origin

    for section, table in read_profile(path).items():
        origin = f"profile {path}"
        if section not in SECTIONS:
            raise ProfileError(
                f"{origin}: [{section}] is not a known table{nearest(section, SECTIONS)}"
                f"; there are {', '.join(f'[{known}]' for known in SECTIONS)}"
            )
        if not isinstance(table, dict):
            raise ProfileError(f"{origin}: {section} must be a table, [{section}], not {shown(table)}")
        for key, value in table.items():
            _check_known(section, key, origin)
            put((section, key), value, f"{origin}: [{section}] {key}")
    for section, keys in SECTIONS.items():
        for key in keys.model_fields:
            text = environ.get(variable(section, key))
            if text and (section, key) not in PROFILE_ONLY:
                put((section, key), parse_text(section, key, text), f"variable {variable(section, key)}")
    for (flag, (section, key)), given in (flags or {}).items():
        if given is not None:
            value = parse_text(section, key, given) if isinstance(given, str) else given
            put((section, key), value, f"option {flag}")

    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise _complaint(error, values, origins) from None
    return Resolved(settings, path, origins)


def load_settings(profile: str | None = None, **values: Any) -> Settings:
    """Settings of a profile (by name or path), single keys replaced: `load_settings("code", k=8, dtype="bfloat16")`.

    The environment is read as on the command line; `values` beat it.

    Raises:
        ProfileError: something is not allowed.
    """
    homes = {key: section for section, keys in SECTIONS.items() for key in keys.model_fields}
    unknown = next((key for key in values if key not in homes), None)
    if unknown:
        raise ProfileError(f"{unknown} is not a known key{nearest(unknown, homes)}; there are {', '.join(homes)}")
    return resolve(profile, {(key, (homes[key], key)): value for key, value in values.items()}).settings


def parse_text(section: str, key: str, text: str) -> Any:
    """A value typed as text: read as TOML (`16`, `0.8`, `true`) where the key takes more than text."""
    if SECTIONS[section].model_fields[key].annotation in (str, list[str]) or key == "stop":
        return text
    try:
        return tomli.loads(f"value = {text}")["value"]
    except tomli.TOMLDecodeError:
        return text


def _check_known(section: str, key: str, origin: str) -> None:
    known = SECTIONS[section].model_fields
    if key in known:
        return
    elsewhere = [name for name, other in SECTIONS.items() if key in other.model_fields]
    hint = f"; it belongs under [{elsewhere[0]}]" if elsewhere else nearest(key, known)
    raise ProfileError(f"{origin}: [{section}] {key} is not a known key{hint}; there are {', '.join(known)}")


def _complaint(error: ValidationError, values: dict[str, dict[str, Any]], origins: dict[Key, str]) -> ProfileError:
    """The first thing that is wrong, in one sentence."""
    section, key = (str(part) for part in error.errors()[0]["loc"][:2])
    value = values[section][key]
    words = [word for word in choices(section, key) if isinstance(value, str)]
    hint = nearest(value, words) if words else ""
    return ProfileError(
        f"{origins[section, key]}: {shown(value)} is not allowed: it must be {allowed(section, key)}{hint}"
    )


def shown(value: Any) -> str:
    """A value as it would stand in TOML, near enough to be recognised."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)
