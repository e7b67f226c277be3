"""Contestants as they are asked for: what `--with NAME:KEY=VALUE,...` means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookahead_cli.bench.names import CHOOSING, GUESSING, ROUNDS, TRANSFORMERS_ASSISTED
from lookahead_cli.decoding.strategies import PLAIN, STRATEGIES
from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import shown, with_values
from lookahead_cli.profile import MOST_GUESSES, DecodingSettings, Settings, nearest

DEFAULT_ROUNDS = 2
MOST_DIGITS = 10
"""Python does not even read numbers of thousands of them."""


@dataclass(frozen=True)
class Entry:
    """A contestant as it was asked for."""

    name: str
    """As typed."""
    kind: str
    """A key of GUESSING."""
    settings: Settings
    rounds: int = DEFAULT_ROUNDS
    """Of `nar`: forward passes for each block."""

    @property
    def decoding(self) -> DecodingSettings:
        return self.settings.decoding

    @property
    def choosing(self) -> tuple[str, ...]:
        """What decides which tokens come out, in a form that can be compared."""
        return tuple(str(getattr(self.decoding, key)) for key in CHOOSING)


def read_entry(name: str, settings: Settings) -> Entry:
    """`settings` with a strategy, and perhaps other keys: "lookahead", "jacobi:k=4", "lookahead:k=16,drafters=copies".

    Names of drafters are joined with "+".

    Raises:
        ProfileError: something in it is not allowed, or makes no difference.
    """
    kind, _, rest = name.partition(":")
    origin = f"option --with {name}"
    if kind not in GUESSING:
        raise ProfileError(
            f'option --with: "{kind}" is no strategy{nearest(kind, GUESSING)}; there are {", ".join(GUESSING)}'
        )
    values: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (text.strip() for text in part.partition("="))
        if not equals:
            raise ProfileError(f'{origin}: "{part}" is no setting; write it as key=value')
        if key in values or key == "strategy":
            raise ProfileError(f"{origin}: {key} is set already; leave one of them out")
        if key not in (*CHOOSING, *GUESSING[kind]):
            raise ProfileError(
                f"{origin}: {key} makes no difference to {kind}{nearest(key, (*GUESSING[kind], *CHOOSING))}; "
                f"these do: {', '.join((*GUESSING[kind], *CHOOSING))}"
            )
        values[key] = value.replace("+", ",") if key == "drafters" else value
    if values.get("seed") == "random":
        raise ProfileError(f"{origin}: nobody could be held against a seed of its own; use --seed random, for all")
    rounds = read_rounds(values.pop(ROUNDS, str(DEFAULT_ROUNDS)), origin)
    if kind == TRANSFORMERS_ASSISTED and not settings.draft.source.strip():
        raise ProfileError(f"{origin}: no draft model is named to assist; give one with --draft-model")
    own = {"strategy": kind if kind in STRATEGIES else PLAIN}
    return Entry(name, kind, with_values(settings, own | values, origin), rounds)


def read_rounds(text: str, origin: str) -> int:
    """The number of rounds; more than there are tokens in the longest block change nothing."""
    if not (text.isascii() and text.isdigit() and len(text) < MOST_DIGITS and 1 <= int(text) <= MOST_GUESSES):
        raise ProfileError(f"{origin}: rounds is {shown(text)}; it must be a whole number from 1 to {MOST_GUESSES}")
    return int(text)


def default_entries(settings: Settings) -> list[str]:
    """Plain decoding, and what the settings ask for."""
    strategy = settings.decoding.strategy
    return [PLAIN, "lookahead" if strategy == PLAIN else strategy]


def read_entries(names: Sequence[str], settings: Settings) -> list[Entry]:
    """All contestants, none of them twice.

    Raises:
        ProfileError: something is not allowed.
    """
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ProfileError(f"option --with: {twice} is there twice; leave one of them out")
    entries = [read_entry(name, settings) for name in names]
    for place, entry in enumerate(entries):
        for other in entries[:place]:
            if (entry.kind, entry.settings, entry.rounds) == (other.kind, other.settings, other.rounds):
                raise ProfileError(
                    f"option --with: {other.name} and {entry.name} are the same here; leave one of them out"
                )
    return entries
