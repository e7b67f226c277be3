"""KV caches of many sequences: those of the same size lie in one tensor, so that one product serves them all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lookahead_cli.models.lean.architecture import Architecture
from lookahead_cli.models.lean.slots import Pages, Placement

GROWTH = 1.25
"""A full rack is enlarged by this, and one that is emptier than its square is made smaller: caches are copied whenever
that happens."""
MOST_SLACK = GROWTH**2
"""Seats that a rack has at most, as a multiple of those that are occupied."""


class Cache:
    """The cache of one sequence: a seat in a rack."""

    def __init__(self, pages: Pages) -> None:
        self.length = 0
        """Committed entries, each at the slot of its position."""
        self.placement = Placement(pages, 0)
        """Of the latest step."""
        self.rack: Rack | None = None
        self.seat = -1


class Rack:
    """Caches of so many pages each. Occupied seats are the first ones, without a gap."""

    def __init__(self, architecture: Architecture, pages: Pages, count: int, dtype: torch.dtype, device: torch.device):
        self.slots = count * pages.slots
        self.groups = architecture.key_value_heads
        self.sitting: list[Cache] = []
        shape = (2, 0, self.groups, self.slots, architecture.head_width)
        self.layers = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(architecture.layers)]
        """Keys and values by layer, each (2, seats, groups, slots, width). Zeros at first: what is masked is multiplied
        by zero all the same."""

    @property
    def seats(self) -> int:
        return self.layers[0].shape[1]

    def sit(self, cache: Cache) -> None:
        """Give `cache` a seat here; what it has elsewhere comes along."""
        if len(self.sitting) == self.seats:
            self._resize(self.seats + max(int((GROWTH - 1) * self.seats), 1))
        seat = len(self.sitting)
        for layer in self.layers:  # who sat here before may have left something that is not finite
            layer[:, seat] = 0
        if cache.rack is not None:
            self.copy(cache, seat, cache.rack.slots)
            cache.rack.stand_up(cache)
        self.sitting.append(cache)
        cache.rack, cache.seat = self, seat

    def stand_up(self, cache: Cache) -> None:
        """Free a seat; the last one moves up to it."""
        last = self.sitting.pop()
        if last is not cache:
            for layer in self.layers:
                layer[:, cache.seat] = layer[:, last.seat]
            self.sitting[cache.seat] = last
            last.seat = cache.seat
        cache.rack = None
        if MOST_SLACK * len(self.sitting) < self.seats:
            self._resize(int(GROWTH * len(self.sitting)))

    def _resize(self, seats: int) -> None:
        """Layer by layer, so that little is in memory twice."""
        for index, layer in enumerate(self.layers):
            resized = layer.new_zeros((2, seats, *layer.shape[2:]))
            kept = min(seats, len(self.sitting))
            resized[:, :kept] = layer[:, :kept]
            self.layers[index] = resized

    def is_finite(self, cache: Cache, slots: int) -> bool:
        """Whether all is finite in the first `slots` of a cache that sits here."""
        return all(bool(layer[:, cache.seat, :, :slots].isfinite().all()) for layer in self.layers)

    def copy(self, source: Cache, seat: int, slots: int) -> None:
        """Give a seat the first `slots` of another cache, wherever that sits."""
        assert source.rack is not None, "it has a seat"
        for layer, others in zip(self.layers, source.rack.layers, strict=True):
            layer[:, seat, :, :slots] = others[:, source.seat, :, :slots]

    def swap(self, seat: int, other: int) -> None:
        """Let two caches change seats."""
        if seat == other:
            return
        pair, changed = [seat, other], [other, seat]
        for layer in self.layers:
            layer[:, pair] = layer[:, changed]
        self.sitting[seat], self.sitting[other] = self.sitting[other], self.sitting[seat]
        self.sitting[seat].seat, self.sitting[other].seat = seat, other

    def flat_places(self, seats: Sequence[int], slots: Sequence[int], device: torch.device) -> Tensor:
        """Where entries go in a layer seen as (2 * seats * groups * slots, width): for each (seat, slot) the key heads,
        then the value heads."""
        seat, slot = torch.tensor(seats, device=device), torch.tensor(slots, device=device)
        heads = torch.arange(self.groups, device=device)
        keys = ((seat[:, None] * self.groups + heads) * self.slots) + slot[:, None]  # (n, groups)
        return torch.cat([keys, keys + self.seats * self.groups * self.slots], 1).flatten()

    def move(self, moves: Sequence[tuple[int, int, int]]) -> None:
        """Copy entries, each (seat, old slot, new slot)."""
        seats, old, new = zip(*moves, strict=True)
        for layer in self.layers:
            layer[:, seats, :, new] = layer[:, seats, :, old]
