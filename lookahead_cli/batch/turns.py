"""Giving things back in the order in which they were asked for, whatever the order in which they come."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Turns(Generic[Thing]):
    """Numbers wait in the order of their `expect`; a thing passes when nothing expected before it is missing."""

    def __init__(self) -> None:
        # Not a dict: finding its first key takes the longer the more have been taken out before it.
        self._waiting: OrderedDict[int, tuple[Thing] | None] = OrderedDict()

    def __len__(self) -> int:
        """How many have been expected and not passed."""
        return len(self._waiting)

    def expect(self, number: int) -> None:
        """Its turn is after all that were expected before."""
        if number in self._waiting:
            raise ValueError(f"number {number} is expected already")
        self._waiting[number] = None

    def is_next(self, number: int) -> bool:
        return next(iter(self._waiting), None) == number

    def arrive(self, number: int, thing: Thing) -> None:
        """It is there, and passes when its turn comes."""
        if number not in self._waiting or self._waiting[number] is not None:
            raise ValueError(f"number {number} is not expected")
        self._waiting[number] = (thing,)

    def passing(self) -> Iterator[Thing]:
        """Take out, one at a time, all whose turn it is. What was taken last counts as waiting until the next."""
        while self._waiting:
            number, arrived = next(iter(self._waiting.items()))
            if arrived is None:
                return
            yield arrived[0]
            del self._waiting[number]
