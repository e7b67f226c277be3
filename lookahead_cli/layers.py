"""Flags over environment over profile over defaults; and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

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
    require_draft_model,
)
from lookahead_cli.profile_file import Fault, FaultyProfile, ProfileFile, read_profile, told_place
from lookahead_cli.text.prompt import is_unicode

PREFIX = "LOOKAHEAD_"
PROFILE_VARIABLE = f"{PREFIX}PROFILE"
OTHER_VARIABLES = (PROFILE_VARIABLE, f"{PREFIX}CACHE", f"{PREFIX}DEBUG")
"""Those that set no key."""
PROFILE_ONLY = {("model", "allow")}
"""Risks are taken in a profile, by name, where they can be seen; not by a variable that happens to be set."""

KEYWORDS = {("draft", "source"): "draft_model", ("draft", "revision"): "draft_revision"}
"""Where there are no tables, keys whose bare name means another table's go by these names."""

MOST_SHOWN = 100
"""Characters of a wrong value that a message repeats."""

Key = tuple[str, str]
"""Section and key."""


@dataclass(frozen=True)
class Origin:
    """Where a value came from."""

    layer: Literal["option", "variable", "profile"]
    name: str
    """The option as typed, the variable, or the profile's file."""
    key: Key
    line: int | None = None
    """Of the profile, if it is known."""

    @property
    def place(self) -> str:
        """In words, without the key."""
        if self.layer == "profile":
            return f"profile {told_place(Path(self.name), self.line)}"
        return f"variable {self.name}" if self.layer == "variable" else self.name

    def __str__(self) -> str:
        section, key = self.key
        return f"{self.place}: [{section}] {key}" if self.layer == "profile" else self.place


Layer = tuple[Any, Origin]
"""A value and where it came from."""


@dataclass(frozen=True)
class Resolved:
    """Validated settings and, for every value that is not a default, where it came from."""

    settings: Settings
    profile: Path
    origins: dict[Key, Origin]


def variable(section: str, key: str) -> str:
    """The environment variable that sets a key."""
    return "LOOKAHEAD_MODEL" if (section, key) == ("model", "source") else f"{PREFIX}{keyword(section, key).upper()}"


def misspelt_variables(environ: Iterable[str]) -> dict[str, str]:
    """Names that look like one of our variables and are none, each with the one that was probably meant."""
    settings = (variable(section, key) for section, keys in SECTIONS.items() for key in keys.model_fields)
    ours = {name.removeprefix(PREFIX): name for name in (*OTHER_VARIABLES, *settings)}
    strange = [name for name in environ if name.startswith(PREFIX) and name not in ours.values()]
    close = {name: get_close_matches(name.removeprefix(PREFIX), ours, n=1) for name in strange}
    return {name: ours[meant[0]] for name, meant in close.items() if meant}


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
    path = chosen_profile(profile, environ)
    layers = [*_from_profile(path), *_from_environment(environ)]
    layers += [(value, Origin("option", name, key)) for (name, key), value in (given or {}).items()]
    return Resolved(validated(layers), path, {origin.key: origin for _, origin in layers})


def chosen_profile(profile: str | None, environ: Mapping[str, str]) -> Path:
    """The file of the profile that is used when `profile` is named, or None.

    Raises:
        ProfileError: there is none of that name.
    """
    name = environ.get(PROFILE_VARIABLE) if profile is None else profile
    return default_profile() if name is None or (profile is None and not name) else find_profile(name)


def validated(layers: Iterable[Layer]) -> Settings:
    """Settings of values laid over each other, the last one of a key on top.

    Raises:
        ProfileError: something is not allowed.
    """
    values: dict[str, dict[str, Any]] = {}
    origins: dict[Key, Origin] = {}
    for value, origin in layers:
        section, key = origin.key
        texts = value if isinstance(value, list) else [value]
        if not all(is_unicode(text) for text in texts if isinstance(text, str)):
            raise ProfileError(f"{origin}: this is not UTF-8 text; give it as UTF-8")
        values.setdefault(section, {})[key] = value
        origins[section, key] = origin
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        wrong, what = next(iter(complaints(error, values).items()))
        raise _complaint(origins[wrong], what) from None


def _complaint(origin: Origin, what: str) -> ProfileError:
    if origin.layer == "profile":
        return FaultyProfile(value_fault(origin, what))
    return ProfileError(f"{origin}: {what}")


def value_fault(origin: Origin, what: str) -> Fault:
    """What is wrong with a value in a profile."""
    section, key = origin.key
    return Fault(Path(origin.name), origin.line, f"[{section}] {key}: {what}")


def _from_profile(path: Path) -> list[Layer]:
    """Every key of a profile with its value and place."""
    layers, faults = profile_layer(read_profile(path))
    if faults:
        raise FaultyProfile(faults[0])
    return layers


def profile_layer(file: ProfileFile) -> tuple[list[Layer], list[Fault]]:
    """Every known key of a profile with its value and place, and what else is there that should not be."""
    layers: list[Layer] = []
    faults = []
    for section, table in file.tables.items():
        if section not in SECTIONS:
            faults.append(file.fault(unknown_table(section, table), section))
        elif not isinstance(table, dict):
            faults.append(file.fault(f"{section} must be a table, [{section}], not {shown(table)}", section))
        else:
            for key, value in table.items():
                if what := unknown_key(section, key):
                    faults.append(file.fault(what, section, key))
                else:
                    line = file.lines.get((section, key))
                    layers.append((value, Origin("profile", str(file.path), (section, key), line)))
    return layers, faults


def _from_environment(environ: Mapping[str, str]) -> Iterator[Layer]:
    """Every key that a variable sets; an empty variable sets nothing."""
    for section, keys in SECTIONS.items():
        for key in keys.model_fields:
            name = variable(section, key)
            if not environ.get(name):
                continue
            if (section, key) in PROFILE_ONLY:
                raise ProfileError(f"variable {name}: a risk is taken in a profile only; write {key} under [{section}]")
            yield parse_text(section, key, environ[name]), Origin("variable", name, (section, key))


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
    for key, text in typed.items():
        if what := unknown_key("decoding", key):
            raise ProfileError(f"{origin}: {what}")
        values["decoding"][key] = parse_text("decoding", key, text)
    try:
        replaced = Settings.model_validate(values)
    except ValidationError as error:
        raise ProfileError(f"{origin}: {next(iter(complaints(error, values).values()))}") from None
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


def unknown_table(name: str, content: Any) -> str:
    """What to say about a table, or a key outside of all tables, that means nothing."""
    home = None if isinstance(content, dict) else _home(name)
    hint = f"; {name} belongs under [{home}]" if home else nearest(name, SECTIONS)
    return f"[{name}] is not a known table{hint}; there are {', '.join(f'[{known}]' for known in SECTIONS)}"


def unknown_key(section: str, key: str) -> str | None:
    """What to say about a key that means nothing; None if it does mean something."""
    known = SECTIONS[section].model_fields
    if key in known:
        return None
    home = _home(key)
    hint = f"; it belongs under [{home}]" if home else nearest(key, known)
    return f"[{section}] {key} is not a known key{hint}; there are {', '.join(known)}"


def _home(key: str) -> str | None:
    """The table that a key belongs to; None if there is none."""
    return next((section for section, keys in SECTIONS.items() if key in keys.model_fields), None)


def complaints(error: ValidationError, values: Mapping[str, Mapping[str, Any]]) -> dict[Key, str]:
    """For each key that is wrong what is, in words that follow its place; in the order of `Settings`."""
    found: dict[Key, str] = {}
    for each in error.errors():
        section, key = (str(part) for part in each["loc"][:2])
        value = values[section][key]
        words = [word for word in choices(section, key) if isinstance(value, str)]
        hint = nearest(value, words) if words else ""
        found[section, key] = f"{shown(value)} is not allowed: it must be {allowed(section, key)}{hint}"
    return found


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
