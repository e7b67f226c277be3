"""What a line, a row or a file says, before anybody has given it a number and an id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lookahead_cli.text.prompt import is_unicode

MOST_BYTES = 16 * 2**20
"""Of one record. More is no prompt but a file of another kind, and would be held in memory as a whole."""


class Unusable(Exception):
    """No prompt can be made of this; the message is the reason, in words that follow the place."""

    id: str | None = None
    """The one it brings along, if that much could be read."""


@contextmanager
def identified(id: str | None) -> Iterator[None]:
    """What turns out to be unusable inside has that id."""
    try:
        yield
    except Unusable as error:
        error.id = id
        raise


@dataclass(frozen=True)
class Content:
    """A prompt or a conversation, and what comes with it."""

    prompt: str | None = None
    messages: tuple[Mapping[str, str], ...] | None = None
    id: str | None = None
    """The one it brings along, if any."""
    system: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


def usable_prompt(text: str, name: str = "the prompt") -> str:
    """`text` if a model can be asked it.

    Raises:
        Unusable: there is nothing but white space, or half characters.
    """
    if not text.strip():
        raise Unusable(f"{name} is empty")
    return usable_text(text, name)


def usable_text(text: str, name: str) -> str:
    """`text` if all of it are characters.

    Raises:
        Unusable: it holds half of a pair.
    """
    if not is_unicode(text):
        raise Unusable(f"{name} holds half characters (surrogates)")
    return text
