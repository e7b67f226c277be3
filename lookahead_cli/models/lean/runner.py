"""The lean runner: the Llama family's forward pass with nothing around it, and rows that do not depend on each other.

Rows come out bit for bit the same however many share a pass (DESIGN: batch-invariant rows), as long as three rules
are kept: a fewest number of rows a pass, sums over keys page by page, and the slots of `slots.py`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lookahead_cli.models.lean.attention import attend, build_mask, pages_for
from lookahead_cli.models.lean.forward import LeanForward
from lookahead_cli.models.lean.memory import memory_told
from lookahead_cli.models.lean.slots import Placement, place
from lookahead_cli.models.runner import nobody

PREFILL_CHUNK = 256
"""Prompt tokens per forward pass: bounds the memory for activations and the wait until Ctrl-C is heard."""


@dataclass(frozen=True)
class Entries:
    """What a pass stores in the cache."""

    slots: Tensor
    """Where, (m,)."""
    rows: Tensor | None
    """Which rows, (m,); None: the first m."""

    def of(self, rows: Tensor) -> Tensor:
        return rows[: len(self.slots)] if self.rows is None else rows.index_select(0, self.rows)


class LeanRunner:
    """Runs one sequence at a time in a KV cache of its own, which grows as needed."""

    rewind_obstacle: str | None = None
    tree_obstacle: str | None = None

    def __init__(self, forward: LeanForward) -> None:
        self.forward = forward
        self.architecture = forward.architecture
        self.dtype, self.device = forward.dtype, forward.device
        self.vocab = forward.architecture.vocab
        self.length = 0
        """Committed entries in the cache; each at the slot of its position."""
        self.pages = pages_for(forward.dtype)
        self.placement = Placement(self.pages, 0)
        self.cache = self._empty_cache(self.pages.slots)

    def branching(self, nodes: int) -> bool:
        return True

    def seats(self) -> Placement:
        return Placement(self.pages, self.length)

    def keeps(self, count: int) -> bool:
        return count <= self.length

    def prefill(
        self,
        tokens: Sequence[int],
        take_rows: Callable[[Tensor], None] | None = None,
        *,
        kept: int = 0,
        tell: Callable[[int], None] = nobody,
    ) -> None:
        self.length = kept
        slots = self.pages.slots_for(len(tokens) + 1)
        if kept:
            self._make_room(slots)
        else:
            self.cache = self._empty_cache(slots)
        for start in range(kept, len(tokens), PREFILL_CHUNK):
            chunk = tokens[start : start + PREFILL_CHUNK]
            chain = place(self.pages, self.length, range(-1, len(chunk) - 2))
            with memory_told(self.device, f"a forward pass over {len(chunk)} tokens failed"):
                rows = self._run(chunk, chain, self.pages.slots_for(self.length + len(chunk)))
                self.length += len(chunk)
                if take_rows is not None:
                    take_rows(self._logits(rows, len(chunk)))
            tell(self.length)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        self.placement = place(self.pages, self.length, parents)
        self._make_room(self.pages.slots_for(max(self.placement.positions) + 1))
        # All of the cache, its unused end masked: a part of it would be copied together in every layer.
        with memory_told(self.device, f"a forward pass over {1 + len(tokens)} tokens failed"):
            rows = self._run([pending, *tokens], self.placement, self.capacity)
            return self._logits(rows, 1 + len(tokens))

    def commit(self, path: Sequence[int]) -> None:
        moves = self.placement.moves(path)
        if moves:
            old, new = (torch.tensor(slots, device=self.device) for slots in zip(*moves, strict=True))
            self.cache.index_copy_(2, new, self.cache.index_select(2, old))
        self.length += 1 + len(path)

    def forget(self, count: int) -> None:
        # What lies behind is masked, as the rejected nodes of a step are, until it is written over.
        self.length -= count

    def twin(self) -> LeanRunner:
        twin = copy.copy(self)
        twin.length = 0
        twin.placement = Placement(self.pages, 0)
        twin.cache = self._empty_cache(self.pages.slots)
        return twin

    @property
    def capacity(self) -> int:
        """Slots of the cache, always whole pages."""
        return self.cache.shape[2]

    def _make_room(self, slots: int) -> None:
        """Let the cache have at least so many slots; what is committed stays."""
        if slots <= self.capacity:
            return
        grown = self._empty_cache(slots)
        grown[:, :, : self.capacity] = self.cache
        self.cache = grown

    def _empty_cache(self, slots: int) -> Tensor:
        """Keys, then values, of all heads: (layers, 2 * key_value_heads, slots, head_width).

        Zeros, because what is masked is multiplied by zero all the same.
        """
        shape = self.architecture
        size = (shape.layers, 2 * shape.key_value_heads, slots, shape.head_width)
        with memory_told(
            self.device, f"a KV cache of {math.prod(size) * self.dtype.itemsize / 1e9:.2f} GB cannot be made"
        ):
            return torch.zeros(size, dtype=self.dtype, device=self.device)

    @torch.inference_mode()
    def _run(self, tokens: Sequence[int], placement: Placement, size: int) -> Tensor:
        """Hidden states (len(tokens) or more, hidden) after the last layer; keys and values go into the cache.

        The first `size` slots of the cache are looked at, whole pages.
        """
        shape = self.architecture
        groups, sharing = shape.key_value_heads, shape.heads // shape.key_value_heads
        stored, slots = torch.tensor(placement.entries, device=self.device).unbind(1)
        entries = Entries(slots, None if len(slots) == len(tokens) else stored)
        rows = max(len(tokens), self.forward.fewest_rows)
        masks = {
            window: build_mask(self.pages, [placement], rows, size, window, sharing, self.dtype, self.device)
            for window in set(shape.windows)
        }

        def over_cache(layer: int, heads: Tensor) -> Tensor:
            cache, mask = self.cache[layer], masks[shape.windows[layer]]
            cache.index_copy_(1, entries.slots, entries.of(heads[:, shape.heads :]).transpose(0, 1))
            queries = heads[None, :, : shape.heads]
            return attend(queries, cache[:groups, :size], cache[groups:, :size], mask, size // self.pages.slots)[0]

        return self.forward.run(tokens, placement.positions, over_cache)

    def _logits(self, rows: Tensor, count: int) -> Tensor:
        return self.forward.logits(rows)[:count]
