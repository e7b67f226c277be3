"""How long-running work says where it is, without knowing who shows it."""

from __future__ import annotations

from typing import Protocol


class ByteShare(float):
    """Which part of a number of bytes is done: a fraction like any other, for whoever wants no more than that."""

    total: int

    def __new__(cls, done: float, total: int) -> ByteShare:
        share = super().__new__(cls, min(done / total, 1.0) if total else 1.0)
        share.total = total
        return share

    @property
    def done(self) -> int:
        """Bytes."""
        return round(self * self.total)


class Progress(Protocol):
    """Called with what is going on now and how much of it is done."""

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        """Report `activity` ("downloading smollm2-135m"); `fraction` in 0..1, or None when it cannot be known."""


def silent(activity: str, fraction: float | None = None) -> None:
    """A `Progress` that shows nothing, for library use."""
