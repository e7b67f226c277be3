"""What a run is fed with: a record for each prompt, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """One prompt to be answered."""

    number: int
    """Place among everything that was read, from 0; what could not be used counts too."""
    id: str
    place: str
    """File and line, for messages: "prompts.jsonl, line 3"."""
    prompt: str | None = None
    messages: tuple[Mapping[str, str], ...] | None = None
    """A conversation, `role` and `content` each, in place of a prompt."""
    system: str | None = None
    """System text of its own; None: that of the run."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Keys of [decoding] it sets for itself, each of the right type and allowed."""
    fraction: float | None = None
    """Part of the input that ends with it; None where nobody knows how much there is."""
    line: int | None = None
    """Line in its file, from 1."""


@dataclass(frozen=True)
class BadRecord:
    """Something in the input that no prompt can be made of."""

    number: int
    id: str
    """Its own, or made from the place where that is missing, taken or not to be read."""
    place: str
    line: int
    """Line in its file, from 1; where a record takes several lines, the first."""
    reason: str
    """What is wrong, in words that follow the place."""
    fraction: float | None = None
