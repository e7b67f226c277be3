"""How long-running work says where it is, without knowing who shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is going on now and how much of it is done."""

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        """Report `activity` ("downloading smollm2-135m"); `fraction` in 0..1, or None when it cannot be known."""


def silent(activity: str, fraction: float | None = None) -> None:
    """A `Progress` that shows nothing, for library use."""
