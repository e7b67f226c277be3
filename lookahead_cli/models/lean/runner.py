"""The lean runner: the Llama family's forward pass with nothing around it, and rows that do not depend on each other.

Rows come out bit for bit the same however many share a pass (DESIGN: batch-invariant rows), as long as three rules
are kept: a fewest number of rows a pass, sums over keys page by page, and the slots of `slots.py`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from lookahead_cli.models.devices import free_memory
from lookahead_cli.models.failures import memory_failure
from lookahead_cli.models.lean.architecture import Architecture
from lookahead_cli.models.lean.rotary import RotaryTable
from lookahead_cli.models.lean.slots import LONG_PAGES, SHORT_PAGES, Pages, Placement, place
from lookahead_cli.models.lean.weights import LayerWeights, Weights

FEWEST_ROWS = {torch.float32: 8, torch.bfloat16: 2, torch.float16: 2}
"""Rows below which linear kernels take another code path, with another order of summation."""
FASTEST_ROWS = 4
"""Packed weights are multiplied faster with so many rows than with fewer."""
PREFILL_CHUNK = 256
"""Prompt tokens per forward pass: bounds the memory for activations and the wait until Ctrl-C is heard."""
QUERY_BLOCK = 192
"""Queries whose scores are worked out together: those of a whole chunk over a long text would not stay in the cache of
the processor."""
NEVER = 2**40
"""Stands for the position of a spare slot: behind all others."""


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

    def __init__(self, architecture: Architecture, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self.architecture, self.weights = architecture, weights
        self.dtype, self.device = dtype, device
        self.vocab = architecture.vocab
        self.rotary = RotaryTable(architecture, dtype, device)
        self.epsilon = torch.tensor(architecture.norm_epsilon, device=device)
        self.length = 0
        """Committed entries in the cache; each at the slot of its position."""
        self.pages = pages_for(dtype)
        self.fewest_rows = FEWEST_ROWS[dtype] if weights.four_bits else max(FEWEST_ROWS[dtype], FASTEST_ROWS)
        self.placement = Placement(self.pages, 0)
        self.cache = self._empty_cache(self.pages.slots)

    def branching(self, nodes: int) -> bool:
        return True

    def seats(self) -> Placement:
        return Placement(self.pages, self.length)

    def prefill(self, tokens: Sequence[int], take_rows: Callable[[Tensor], None] | None = None) -> None:
        self.length = 0
        self.cache = self._empty_cache(self.pages.slots_for(len(tokens) + 1))
        for start in range(0, len(tokens), PREFILL_CHUNK):
            chunk = tokens[start : start + PREFILL_CHUNK]
            chain = place(self.pages, self.length, range(-1, len(chunk) - 2))
            with self._memory_told(f"a forward pass over {len(chunk)} tokens failed"):
                rows = self._run(chunk, chain, self.pages.slots_for(self.length + len(chunk)))
                self.length += len(chunk)
                if take_rows is not None:
                    take_rows(self._logits(rows, len(chunk)))

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        self.placement = place(self.pages, self.length, parents)
        self._make_room(self.pages.slots_for(max(self.placement.positions) + 1))
        # All of the cache, its unused end masked: a part of it would be copied together in every layer.
        with self._memory_told(f"a forward pass over {1 + len(tokens)} tokens failed"):
            rows = self._run([pending, *tokens], self.placement, self.capacity)
            return self._logits(rows, 1 + len(tokens))

    def commit(self, path: Sequence[int]) -> None:
        first = self.length + 1
        places = [self.pages.slot_of(first + depth) for depth in range(len(path))]
        moves = [(self.placement.slots[1 + node], slot) for node, slot in zip(path, places, strict=True)]
        moves = [(old, new) for old, new in moves if old != new]
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
        with self._memory_told(f"a KV cache of {math.prod(size) * self.dtype.itemsize / 1e9:.2f} GB cannot be made"):
            return torch.zeros(size, dtype=self.dtype, device=self.device)

    @contextmanager
    def _memory_told(self, failed: str) -> Iterator[None]:
        """Say in one sentence, with numbers, if the memory does not suffice."""
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            free = free_memory(self.device)
            lack = memory_failure(
                error,
                f"{failed} on {self.device}, where {free / 1e9:.2f} GB is free",
                "shorten the prompt or choose a smaller model or k",
            )
            if lack is None:
                raise
            raise lack from error

    @torch.inference_mode()
    def _run(self, tokens: Sequence[int], placement: Placement, size: int) -> Tensor:
        """Hidden states (len(tokens) or more, hidden) after the last layer; keys and values go into the cache.

        The first `size` slots of the cache are looked at, whole pages.
        """
        shape, weights = self.architecture, self.weights
        padding = max(self.fewest_rows - len(tokens), 0)
        ids = torch.tensor([*tokens, *[tokens[0]] * padding], device=self.device)
        positions = torch.tensor(placement.positions + placement.positions[:1] * padding, device=self.device)
        stored, slots = torch.tensor(placement.entries, device=self.device).unbind(1)
        entries = Entries(slots, None if len(slots) == len(tokens) else stored)
        cosines, sines = self.rotary.at(positions, max(placement.positions))
        masks = {window: self._mask(placement, positions, size, window) for window in set(shape.windows)}
        hidden = functional.embedding(ids, weights.embedding).float()
        for index, layer in enumerate(weights.layers):
            normed = self._norm(hidden, layer.attention_norm)
            mixed = self._attend(normed, layer, self.cache[index], entries, masks[shape.windows[index]], cosines, sines)
            hidden.add_(layer.output(mixed))
            normed = self._norm(hidden, layer.feed_forward_norm)
            hidden.add_(layer.down(layer.gate(normed).mul_(layer.up(normed))))
        return hidden

    def _attend(
        self, normed: Tensor, layer: LayerWeights, cache: Tensor, entries: Entries, mask: Tensor, cosines: Tensor,
        sines: Tensor,
    ) -> Tensor:  # fmt: skip
        """Attention (rows, heads * width) of every row over the cache, with its own entries, which are stored there."""
        shape, rows = self.architecture, len(normed)
        groups, width, size = shape.key_value_heads, shape.head_width, mask.shape[-1]
        heads = layer.query_key_value(normed).view(rows, -1, width)
        if layer.query_norm is not None and layer.key_norm is not None:
            queries, keys, values = torch.split(heads, [shape.heads, groups, groups], dim=1)
            heads = torch.cat([self._norm(queries, layer.query_norm), self._norm(keys, layer.key_norm), values], dim=1)
        heads = torch.addcmul(heads * cosines, heads.roll(width // 2, -1), sines)
        cache.index_copy_(1, entries.slots, entries.of(heads[:, shape.heads :]).transpose(0, 1))
        queries = heads[:, : shape.heads].reshape(rows, groups, -1).transpose(0, 1).reshape(groups, -1, width)
        keys, values, pages = cache[:groups, :size].transpose(1, 2), cache[groups:, :size], size // self.pages.slots
        if queries.shape[1] <= QUERY_BLOCK:
            scores = torch.bmm(queries, keys).add_(mask)
            mixed = mix(torch.softmax(scores, -1), values, pages)
        else:
            keys, values = keys.contiguous(), values.contiguous()
            parts = []
            for block, its_mask in zip(
                torch.split(queries, QUERY_BLOCK, dim=1), torch.split(mask, QUERY_BLOCK), strict=True
            ):
                scores = torch.bmm(block, keys).add_(its_mask)
                parts.append(mix(torch.softmax(scores, -1), values, pages))
            mixed = torch.cat(parts, 1)
        return mixed.view(groups, rows, -1).transpose(0, 1).reshape(rows, -1)

    def _norm(self, rows: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467) of the last dimension, in float32 up to the end."""
        length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.addcmul(self.epsilon, length, length, value=1 / rows.shape[-1]).rsqrt_()
        return (rows * scale).mul_(weight).to(self.dtype)

    def _mask(self, placement: Placement, positions: Tensor, size: int, window: int | None) -> Tensor:
        """What is added to the scores of every query, 0 where it may look, else minus infinity.

        Shape (rows * heads per group, size), in the order of the queries in `_attend`. `positions` has the padding too.
        """
        device = self.device
        slots = torch.arange(size, device=device)
        page, place = slots // self.pages.slots, slots % self.pages.slots
        held = torch.where(place < self.pages.positions, page * self.pages.positions + place, NEVER)
        last = positions[:, None] if placement.is_chain else positions[:1, None] - 1
        visible = held <= last
        if window is not None:
            visible = visible & (held > positions[:, None] - window)
        visible = visible.expand(len(positions), size)
        if not placement.is_chain:
            pairs = [
                (row, slot)
                for row, lineage in enumerate(placement.lineages)
                for ago, slot in enumerate(reversed(lineage))
                if window is None or ago < window
            ]
            rows, seen = (torch.tensor(part, device=device) for part in zip(*pairs, strict=True))
            visible = visible.clone()
            visible[rows, seen] = True
        mask = torch.zeros(visible.shape, dtype=self.dtype, device=device).masked_fill_(~visible, -torch.inf)
        return mask.repeat_interleave(self.architecture.heads // self.architecture.key_value_heads, dim=0)

    @torch.inference_mode()
    def _logits(self, rows: Tensor, count: int) -> Tensor:
        return self.weights.head(self._norm(rows, self.weights.final_norm))[:count].float()


def pages_for(dtype: torch.dtype) -> Pages:
    """How the cache is divided for sums in `dtype`."""
    return SHORT_PAGES if dtype == torch.float32 else LONG_PAGES


def mix(weights: Tensor, values: Tensor, pages: int) -> Tensor:
    """Sums (groups, queries, width) of `values` (groups, slots, width) by `weights` (groups, queries, slots).

    Page by page, so that the order of summation depends on positions alone.
    """
    if pages == 1:
        return torch.bmm(weights, values)
    groups, queries, _ = weights.shape
    by_page = weights.view(groups, queries, pages, -1).transpose(1, 2).reshape(groups * pages, queries, -1)
    parts = torch.bmm(by_page, values.reshape(groups * pages, by_page.shape[-1], -1)).view(groups, pages, queries, -1)
    total = parts[:, 0].float()
    for page in range(1, pages):
        total += parts[:, page]
    return total.to(weights.dtype)
