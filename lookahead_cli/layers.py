"""Flags over environment over profile over defaults; and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    require_draft_model,
)
from lookahead_cli.text.prompt import is_unicode

PROFILE_VARIABLE = "LOOKAHEAD_PROFILE"
PROFILE_ONLY = {("model", "allow")}
"""Risks are taken in a profile, by name, where they can be seen; not by a variable that happens to be set."""

KEYWORDS = {("draft", "source"): "draft_model", ("draft", "revision"): "draft_revision"}
"""Where there are no tables, keys whose bare name means another table's go by these names."""

MOST_SHOWN = 100
"""Characters of a wrong value that a message repeats."""

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
    return "LOOKAHEAD_MODEL" if (section, key) == ("model", "source") else f"LOOKAHEAD_{keyword(section, key).upper()}"


def keyword(section: str, key: str) -> str:
    """What a key is called where there are no tables."""
    return KEYWORDS.get((section, key), key)


def resolve(
    profile: str | None = None,
    given: Mapping[tuple[str, Key], Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Settings from all layers.

    `profile` is a name or path (else LOOKAHEAD_PROFILE, else the default one). `given` maps (what to call it, key) to
    values that beat all others.

    Raises:
        ProfileError: something is not allowed; the message names the place, the value and what is.
    """
    environ = os.environ if environ is None else environ
    name = environ.get(PROFILE_VARIABLE) if profile is None else profile
    path = default_profile() if name is None or (profile is None and not name) else find_profile(name)
    layers = [*_from_profile(path), *_from_environment(environ)]
    layers += [(key, value, origin) for (origin, key), value in (given or {}).items()]

    values: dict[str, dict[str, Any]] = {}
    origins: dict[Key, str] = {}
    for (section, key), value, origin in layers:
        texts = value if isinstance(value, list) else [value]
        if not all(is_unicode(text) for text in texts if isinstance(text, str)):
            raise ProfileError(f"{origin}: this is not UTF-8 text; give it as UTF-8")
        values.setdefault(section, {})[key] = value
        origins[section, key] = origin
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise _complaint(error, values, origins) from None
    return Resolved(settings, path, origins)


def _from_profile(path: Path) -> Iterator[tuple[Key, Any, str]]:
    """Every key of a profile with its value and place."""
    for section, table in read_profile(path).items():
        if section not in SECTIONS:
            raise ProfileError(
                f"profile {path}: [{section}] is not a known table{nearest(section, SECTIONS)}"
                f"; there are {', '.join(f'[{known}]' for known in SECTIONS)}"
            )
        if not isinstance(table, dict):
            raise ProfileError(f"profile {path}: {section} must be a table, [{section}], not {shown(table)}")
        for key, value in table.items():
            _check_known(section, key, f"profile {path}")
            yield (section, key), value, f"profile {path}: [{section}] {key}"


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[Key, Any, str]]:
    """Every key that a variable sets; an empty variable sets nothing."""
    for section, keys in SECTIONS.items():
        for key in keys.model_fields:
            name = variable(section, key)
            if not environ.get(name):
                continue
            if (section, key) in PROFILE_ONLY:
                raise ProfileError(f"variable {name}: a risk is taken in a profile only; write {key} under [{section}]")
            yield (section, key), parse_text(section, key, environ[name]), f"variable {name}"


def load_settings(profile: str | None = None, **values: Any) -> Settings:
    """Settings of a profile (by name or path), single keys replaced: `load_settings("code", k=8, dtype="bfloat16")`.

    The environment is read as on the command line; `values` beat it. Of [draft] the keys are `draft_model` (its source)
    and `draft_revision`.

    Raises:
        ProfileError: something is not allowed.
    """
    homes = {keyword(section, key): (section, key) for section, keys in SECTIONS.items() for key in keys.model_fields}
    unknown = next((key for key in values if key not in homes), None)
    if unknown:
        raise ProfileError(f"{unknown} is not a known key{nearest(unknown, homes)}; there are {', '.join(homes)}")
    return resolve(profile, {(key, homes[key]): value for key, value in values.items()}).settings


def with_values(settings: Settings, typed: Mapping[str, str], origin: str) -> Settings:
    """`settings` with keys of [decoding] replaced by values as they were typed.

    Raises:
        ProfileError: something is not allowed; `origin` is what the message calls the place.
    """
    values = settings.model_dump()
    origins = {}
    for key, text in typed.items():
        _check_known("decoding", key, origin)
        values["decoding"][key] = parse_text("decoding", key, text)
        origins["decoding", key] = origin
    try:
        replaced = Settings.model_validate(values)
    except ValidationError as error:
        raise _complaint(error, values, origins) from None
    require_draft_model(replaced)
    return replaced


def parse_text(section: str, key: str, text: str) -> Any:
    """A value that was typed: a number or truth value where it reads as one and the key takes more than text."""
    if SECTIONS[section].model_fields[key].annotation in (str, list[str]) or key == "stop":
        return text
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
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
        return f'"{shortened(value)}"'
    if isinstance(value, list):
        return shortened(f"[{', '.join(map(shown, value))}]")
    if isinstance(value, int) and value.bit_length() > MOST_SHOWN:
        return "a number of many digits"
    return shortened(str(value).lower() if isinstance(value, bool) else str(value))


def shortened(text: str) -> str:
    """`text` cut where nobody reads on."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
