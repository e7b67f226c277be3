"""Many sequences in one pass of the lean runner's model: linear layers over all rows together, attention by racks.

Rows keep the bits they have alone. Linear layers do not care for the rows beside (see `runner.py`); a batched product
computes each of its matrices by itself; and every sequence lies in its cache exactly as it would in the runner's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lookahead_cli.models.batch_runner import BatchStep, Chunk
from lookahead_cli.models.lean.attention import attend, build_mask, pages_for
from lookahead_cli.models.lean.forward import FEWEST_ROWS, LeanForward
from lookahead_cli.models.lean.memory import memory_told
from lookahead_cli.models.lean.racks import MOST_SLACK, Cache, Rack
from lookahead_cli.models.lean.slots import Placement, place


@dataclass(frozen=True)
class Group:
    """Rows of a pass that attend together: sequences of one rack, or one sequence alone."""

    rack: Rack
    seats: slice
    """Which of the rack."""
    size: int
    """Slots that are looked at, whole pages."""
    gather: Tensor
    """(sequences * rows,): for each row of the product a row of the pass; the first one where a sequence has fewer."""
    scatter: Tensor
    """(n,): rows of the product that are wanted."""
    rows: Tensor
    """(n,): where they belong in the pass."""
    masks: dict[int | None, Tensor]
    """By window."""
    stored: Tensor
    """(m,): rows of the pass whose keys and values are stored."""
    places: Tensor
    """(m * 2 * groups,): where, see `Rack.flat_places`."""


class LeanBatchRunner:
    """Keeps a cache for each sequence."""

    obstacle: str | None = None
    most_sequences: int | None = None
    shares_beginnings = True

    def __init__(self, forward: LeanForward) -> None:
        self.forward = forward
        self.vocab = forward.architecture.vocab
        self.pages = pages_for(forward.dtype)
        self.racks: dict[int, Rack] = {}
        """By the number of pages of their seats: powers of two."""
        self.caches: dict[int, Cache] = {}

    def bytes_for(self, tokens: int) -> int:
        slots = rack_pages(self.pages.slots_for(tokens) // self.pages.slots) * self.pages.slots
        return math.ceil(MOST_SLACK * slots * self.forward.architecture.entry_width * self.forward.dtype.itemsize)

    def enter(self, sequence: int) -> None:
        self.caches[sequence] = Cache(self.pages)

    @torch.inference_mode()
    def begin_like(self, sequence: int, other: int, count: int) -> bool:
        cache, source = self.caches[sequence], self.caches[other]
        slots = self.pages.slot_of(count - 1) + 1  # what the other read next may not be finite
        assert source.rack is not None, "somebody else's tokens have been read"
        if not source.rack.is_finite(source, slots):
            return False
        with memory_told(self.forward.device, f"a KV cache for {count} tokens cannot be made"):
            self._make_room(cache, count)
            assert cache.rack is not None, "it has been given a seat"
            cache.rack.copy(source, cache.seat, slots)
        cache.length = count
        return True

    @torch.inference_mode()
    def leave(self, sequence: int) -> None:
        cache = self.caches.pop(sequence)
        if cache.rack is not None:
            cache.rack.stand_up(cache)

    def branching(self, sequence: int, nodes: int) -> bool:
        return True

    def seats(self, sequence: int) -> Placement:
        return Placement(self.pages, self.caches[sequence].length)

    @torch.inference_mode()
    def run(self, chunks: Sequence[Chunk], steps: Sequence[BatchStep]) -> list[Tensor]:
        parts: list[Chunk | BatchStep] = [*chunks, *steps]
        with memory_told(self.forward.device, f"a pass over {len(chunks) + len(steps)} sequences failed"):
            for part in parts:
                cache = self.caches[part.sequence]
                cache.placement = place(self.pages, cache.length, part.parents)
                self._make_room(cache, max(cache.placement.positions) + 1)
            tokens: list[int] = []
            positions: list[int] = []
            firsts: dict[int, int] = {}
            for part in parts:
                firsts[part.sequence] = len(tokens)
                tokens += part.rows
                positions += self.caches[part.sequence].placement.positions
            groups = self._by_rack({self.caches[step.sequence]: firsts[step.sequence] for step in steps})
            groups += [self._group([self.caches[chunk.sequence]], [firsts[chunk.sequence]]) for chunk in chunks]
            hidden = self.forward.run(tokens, positions, self._over_caches(groups))
            for chunk in chunks:
                self.caches[chunk.sequence].length += len(chunk.tokens)
            read = sum(len(chunk.tokens) for chunk in chunks)
            return self._logits(hidden, range(read, len(tokens)), [1 + len(step.tokens) for step in steps])

    @torch.inference_mode()
    def commit(self, paths: Mapping[int, Sequence[int]]) -> None:
        moves: dict[Rack, list[tuple[int, int, int]]] = {}
        for sequence, path in paths.items():
            cache = self.caches[sequence]
            assert cache.rack is not None, "a step has given it a seat"
            cache.length += 1 + len(path)
            for old, new in cache.placement.moves(path):
                moves.setdefault(cache.rack, []).append((cache.seat, old, new))
        for rack, its_moves in moves.items():
            rack.move(its_moves)

    def _make_room(self, cache: Cache, count: int) -> None:
        """A seat with room for so many positions."""
        needed = self.pages.slots_for(count)
        if cache.rack is None or cache.rack.slots < needed:
            count = rack_pages(needed // self.pages.slots)
            if count not in self.racks:
                forward = self.forward
                self.racks[count] = Rack(forward.architecture, self.pages, count, forward.dtype, forward.device)
            self.racks[count].sit(cache)

    def _by_rack(self, firsts: dict[Cache, int]) -> list[Group]:
        """A group for each rack where somebody steps. Those who read a prompt sit there too, and are left out."""
        groups = []
        for rack in self.racks.values():
            stepping = [cache for cache in rack.sitting if cache in firsts]
            for seat, cache in enumerate(stepping):
                rack.swap(seat, cache.seat)
            if stepping:
                seated = rack.sitting[: len(stepping)]
                groups.append(self._group(seated, [firsts[cache] for cache in seated]))
        return groups

    def _group(self, caches: Sequence[Cache], firsts: Sequence[int]) -> Group:
        """What caches beside each other in a rack need to attend, given the first row of each in the pass."""
        shape, device = self.forward.architecture, self.forward.device
        rack = caches[0].rack
        assert rack is not None, "it has been given a seat"
        placements = [cache.placement for cache in caches]
        counts = [len(placement.positions) for placement in placements]
        rows = max(*counts, FEWEST_ROWS[self.forward.dtype])
        gather = [
            first + (row if row < count else 0)
            for first, count in zip(firsts, counts, strict=True)
            for row in range(rows)
        ]
        wanted = [number * rows + row for number, count in enumerate(counts) for row in range(count)]
        owners = [first + row for first, count in zip(firsts, counts, strict=True) for row in range(count)]
        entries = [
            (first + row, cache.seat, slot)
            for first, cache in zip(firsts, caches, strict=True)
            for row, slot in cache.placement.entries
        ]
        stored, seats, slots = zip(*entries, strict=True)
        sharing = shape.heads // shape.key_value_heads
        size = rack.slots
        if len(caches) == 1:  # a part of several caches would be copied together in every layer
            size = self.pages.slots_for(max(placements[0].positions) + 1)
        masks = {
            window: build_mask(self.pages, placements, rows, size, window, sharing, self.forward.dtype, device)
            for window in set(shape.windows)
        }
        return Group(
            rack=rack,
            seats=slice(caches[0].seat, caches[0].seat + len(caches)),
            size=size,
            gather=torch.tensor(gather, device=device),
            scatter=torch.tensor(wanted, device=device),
            rows=torch.tensor(owners, device=device),
            masks=masks,
            stored=torch.tensor(stored, device=device),
            places=rack.flat_places(seats, slots, device),
        )

    def _over_caches(self, groups: Sequence[Group]) -> Callable[[int, Tensor], Tensor]:
        shape = self.forward.architecture

        def over_caches(layer: int, heads: Tensor) -> Tensor:
            queries = heads[:, : shape.heads]
            mixed = heads.new_zeros((len(heads), shape.heads * shape.head_width))
            for group in groups:
                rack = group.rack
                cache = rack.layers[layer]
                kept = heads[:, shape.heads :].index_select(0, group.stored)
                cache.view(-1, shape.head_width).index_copy_(0, group.places, kept.flatten(0, 1))
                keys, values = cache[:, group.seats, :, : group.size]
                mask = group.masks[shape.windows[layer]]
                asked = queries.index_select(0, group.gather).view(len(mask), -1, shape.heads, shape.head_width)
                found = attend(asked, keys.flatten(0, 1), values.flatten(0, 1), mask, group.size // self.pages.slots)
                mixed.index_copy_(0, group.rows, found.flatten(0, 1).index_select(0, group.scatter))
            return mixed

        return over_caches

    def _logits(self, hidden: Tensor, rows: range, sizes: Sequence[int]) -> list[Tensor]:
        """Of some rows, in parts of these sizes. There are as many in a product as it takes to keep their bits."""
        if not rows:
            return []
        padding = max(self.forward.fewest_rows - len(rows), 0)
        wanted = torch.tensor([*rows, *[rows[0]] * padding], device=hidden.device)
        logits = self.forward.logits(hidden.index_select(0, wanted))[: len(rows)]
        return list(torch.split(logits, list(sizes)))


def rack_pages(pages: int) -> int:
    """The size of rack in which so many pages have room: a power of two."""
    return 1 << (pages - 1).bit_length()
