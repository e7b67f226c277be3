"""Crossing contestants with lists of values: `-k 4,8 --temperature 0,0.7` make four out of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from lookahead_cli.bench.entries import Entry, read_entries
from lookahead_cli.bench.names import CHOOSING, GUESSING
from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import with_values
from lookahead_cli.profile import Settings

GRID = {"temperature": "--temperature", "k": "-k", "init": "--init"}
"""Keys that take lists, and their flags. Contestants come out in the order of the first one, then by name: those that
are held against each other stand together."""


def split_lists(typed: Mapping[str, str | None]) -> dict[str, list[str]]:
    """The values of every key of GRID that has more than one. A single one is no list: it holds for all alike."""
    lists = {key: [value.strip() for value in (typed.get(key) or "").split(",")] for key in GRID}
    return {key: values for key, values in lists.items() if len(values) > 1}


def crossed_entries(names: Sequence[str], lists: Mapping[str, Sequence[str]], settings: Settings) -> list[Entry]:
    """The contestants `names`, each once for every combination of the listed values that make a difference to it and
    that it does not set itself.

    Raises:
        ProfileError: something is not allowed, or a list has nobody to make a difference to.
    """
    read_entries(names, settings)  # what was typed is complained about as it was typed
    for key, values in lists.items():
        check_values(key, values, settings)
        if not any(takes(name, key) for name in names):
            raise ProfileError(
                f"option {GRID[key]}: a list makes no difference to {', '.join(names)}; leave it out, or add a "
                f"strategy that takes {key} and does not set it itself"
            )
    return read_entries(crossed(names, lists), settings)


def check_values(key: str, values: Sequence[str], settings: Settings) -> None:
    """Raise ProfileError for a value that is not allowed, or there twice."""
    flag = f"option {GRID[key]}"
    seen = set()
    for value in values:
        meant = getattr(with_values(settings, {key: value}, flag).decoding, key)
        if meant in seen:
            raise ProfileError(f"{flag}: {value} is there twice; leave one of them out")
        seen.add(meant)


def crossed(names: Sequence[str], lists: Mapping[str, Sequence[str]]) -> list[str]:
    """`names` with the listed values added, none of them twice: "lookahead:k=16,temperature=0.7"."""
    groups = [[("temperature", value)] for value in lists.get("temperature", ())] or [[]]
    found = [new for group in groups for name in names for new in multiplied(name, group, lists)]
    return list(dict.fromkeys(found))


def multiplied(name: str, group: list[tuple[str, str]], lists: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """One of the names, in one group of contestants with the same temperature."""
    keys = [key for key in lists if key != "temperature" and takes(name, key)]
    for values in product(*(lists[key] for key in keys)):
        added = [*zip(keys, values, strict=True), *(pair for pair in group if takes(name, pair[0]))]
        kind, _, own = name.partition(":")
        settings = ",".join([*filter(None, [own]), *(f"{key}={value}" for key, value in added)])
        yield f"{kind}:{settings}" if settings else kind


def takes(name: str, key: str) -> bool:
    """Whether a value of `key` from outside makes a difference to the contestant of this name."""
    kind, _, own = name.partition(":")
    set_by_itself = {part.partition("=")[0].strip() for part in own.split(",")}
    return key in (*CHOOSING, *GUESSING[kind]) and key not in set_by_itself
