"""Where entries lie in the KV cache, so that every sum over keys runs in the same order with a draft as without one.

Kernels sum over keys one after the other, but only so far: after some hundred of them they start a new partial sum,
and bfloat16 kernels take them in pairs, the odd one first. So the cache has pages: the first slots of a page take
positions in order, the others are spare. Each page is summed by itself, always over all its slots; what is masked adds
exact zeros. Nodes of a draft lie in the page of their position, in columns: at `ALIGNMENT` times the column behind the
place of a committed token. A node at an odd position shares a column with the one before it; if another child has
taken that place, the one before is copied into a column of its own. Attention then comes out bit for bit as if the
node's path stood there alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 32
"""Keys that kernels sum side by side, or a multiple of it: 16, 32 and 64 were found exact, 4, 5 and 8 not."""


@dataclass(frozen=True)
class Pages:
    """How a cache is divided."""

    positions: int
    """Positions of a page; it has as many slots for them, one for each."""
    slots: int
    """All its slots, the spare ones with them."""

    def slot_of(self, position: int) -> int:
        """Where the committed token at `position` lies."""
        return position // self.positions * self.slots + position % self.positions

    def slots_for(self, count: int) -> int:
        """Slots of a cache for `count` positions: whole pages."""
        return -(-count // self.positions) * self.slots


LONG_PAGES = Pages(positions=256, slots=384)
"""For half precision: sums of up to 512 keys were never found to be split, of 1024 they were when there were many rows
at once."""
SHORT_PAGES = Pages(positions=128, slots=192)
"""For float32: sums of up to 192 keys are not split, longer ones are, wherever their number says."""


@dataclass(frozen=True)
class Seat:
    """Where a node would lie."""

    column: int
    copies_parent: bool
    """Whether the one before it has to be copied into its column."""


class Placement:
    """Positions, slots and what may be seen, for the pending token (row 0) and the nodes of a draft after it.

    It grows node by node and is the runner's `Seats`.
    """

    def __init__(self, pages: Pages, length: int) -> None:
        """The pending token comes after `length` committed entries."""
        self.pages = pages
        first = pages.slot_of(length)
        self.positions = [length]
        self.slots = [first]
        self.lineages = [[first]]
        """For each row the slots of the step it may look at: the pending token's, its ancestors' and its own."""
        self.entries = [(0, first)]
        """(row, slot): what is to be stored where. A row may be stored more than once."""
        self._columns = [0]
        self._shared: set[int] = set()
        """Rows whose column has been taken on by a child at an odd position."""
        self._taken = {first // 2}
        """Pairs of slots that are taken. A column reaches into the places of positions further on: a deep draft meets
        what lies in the columns of its first nodes."""

    def fits(self, parent: int) -> bool:
        return self._seat(parent) is not None

    def take(self, parent: int) -> None:
        seat = self._seat(parent)
        assert seat is not None, "a node takes a seat only where it fits"
        row, parent_row = len(self.positions), parent + 1
        position = self.positions[parent_row] + 1
        slot = self.pages.slot_of(position) + ALIGNMENT * seat.column
        lineage = self.lineages[parent_row]
        if seat.copies_parent:
            copy = self.pages.slot_of(position - 1) + ALIGNMENT * seat.column
            self.entries.append((parent_row, copy))
            lineage = [*lineage[:-1], copy]
        elif position % 2:
            self._shared.add(parent_row)
        self.positions.append(position)
        self.slots.append(slot)
        self.entries.append((row, slot))
        self.lineages.append([*lineage, slot])
        self._columns.append(seat.column)
        self._taken.add(slot // 2)

    def _seat(self, parent: int) -> Seat | None:
        """Where a node after `parent` can lie, if anywhere."""
        row = parent + 1
        position = self.positions[row] + 1
        odd = bool(position % 2)
        if odd and row not in self._shared:
            return Seat(self._columns[row], copies_parent=False)
        place = position % self.pages.positions
        column = self._columns[row] if place else 0  # in a new page every slot is behind the parent's
        first = self.pages.slot_of(position)
        while (first + ALIGNMENT * column) // 2 in self._taken:
            column += 1
        return Seat(column, copies_parent=odd) if place + ALIGNMENT * column < self.pages.slots else None

    def moves(self, path: Sequence[int]) -> list[tuple[int, int]]:
        """Slots (old, new) of the nodes of `path` that have to move so that the path lies as committed tokens do."""
        committed = [self.pages.slot_of(self.positions[0] + depth) for depth in range(1, len(path) + 1)]
        return [
            (self.slots[1 + node], slot)
            for node, slot in zip(path, committed, strict=True)
            if self.slots[1 + node] != slot
        ]

    @property
    def is_chain(self) -> bool:
        """Whether every row lies where it would if it were committed."""
        return not any(self._columns)


def place(pages: Pages, length: int, parents: Sequence[int]) -> Placement:
    """Place the pending token after `length` committed entries, and after it a tree with these `parents`."""
    placement = Placement(pages, length)
    for parent in parents:
        placement.take(parent)
    return placement
