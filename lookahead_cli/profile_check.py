"""Everything that is wrong in a profile, not only the first thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import Key, Layer, complaints, profile_layer, value_fault
from lookahead_cli.profile import Settings, find_profile
from lookahead_cli.profile_file import Fault, FaultyProfile, read_profile


def faults_of(name: str) -> tuple[Path, list[Fault]]:
    """The file of a profile given by name or path, and what is wrong with it; that it is not there is a fault too."""
    try:
        path = find_profile(name)
    except ProfileError as error:
        said = str(error).removeprefix(f"profile {Path(name)}: ").removeprefix(f'profile "{name}": ')
        return Path(name), [Fault(Path(name), None, said)]
    return path, profile_faults(path)


def profile_faults(path: Path) -> list[Fault]:
    """What is wrong in a file, in the order of its lines."""
    try:
        file = read_profile(path)
    except FaultyProfile as error:
        return [error.fault]  # what is no TOML cannot be looked into
    layers, faults = profile_layer(file)
    faults += value_faults(layers)
    return sorted(faults, key=lambda fault: fault.line or 0)


def value_faults(layers: list[Layer]) -> list[Fault]:
    """What is wrong with values, each by itself and then together."""
    values: dict[str, dict[str, Any]] = {}
    for value, origin in layers:
        section, key = origin.key
        values.setdefault(section, {})[key] = value
    origins = {origin.key: origin for _, origin in layers}
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        return [value_fault(origins[key], what) for key, what in complaints(error, values).items()]
    wrong = clash(settings)
    return [] if wrong is None else [value_fault(origins[wrong[0]], wrong[1])]


def clash(settings: Settings) -> tuple[Key, str] | None:
    """A key that does not go with another one, and what to say about it; no run could use such settings."""
    if settings.prompt.system and settings.prompt.template == "raw":
        what = 'a system text needs a chat template, and template = "raw" means none: leave one of them out'
        return ("prompt", "system"), what
    return None
