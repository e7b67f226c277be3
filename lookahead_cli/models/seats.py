"""Room for the nodes of a draft in one step of a runner."""

from __future__ import annotations

from typing import Protocol


class Seats(Protocol):
    """Asked while a draft grows: the nodes are numbered in the order in which they take a seat, from 0."""

    def fits(self, parent: int) -> bool:
        """Whether one more node after `parent` (-1: the pending token) can be verified in the same step."""

    def take(self, parent: int) -> None:
        """Add that node. It must fit."""


class Unlimited:
    """Room for any draft."""

    def fits(self, parent: int) -> bool:
        return True

    def take(self, parent: int) -> None:
        pass
