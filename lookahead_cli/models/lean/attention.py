"""Attention over caches in pages, with sums that run in the order of positions whatever shares the pass.

Several sequences may be looked at side by side, each with its own rows, cache and mask: a batched product computes
every one of them as it would alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lookahead_cli.models.lean.slots import LONG_PAGES, SHORT_PAGES, Pages, Placement

QUERY_BLOCK = 192
"""Queries whose scores are worked out together: those of a whole chunk over a long text would not stay in the cache of
the processor."""
NEVER = 2**40
"""Stands for the position of a spare slot: behind all others."""


def pages_for(dtype: torch.dtype) -> Pages:
    """How the cache is divided for sums in `dtype`."""
    return SHORT_PAGES if dtype == torch.float32 else LONG_PAGES


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, pages: int) -> Tensor:
    """What every row makes of the cache of its sequence: (sequences, rows, heads * width).

    `queries` (sequences, rows, heads, width), scaled; `keys` and `values` (sequences * groups, slots, width) in `pages`
    pages; `mask` (sequences, rows * heads per group, slots) is added to the scores.
    """
    sequences, rows, heads, width = queries.shape
    groups = len(keys) // sequences
    # Heads that share keys are rows of one product.
    queries = queries.reshape(sequences, rows, groups, -1).transpose(1, 2).reshape(sequences * groups, -1, width)
    keys = keys.transpose(1, 2)
    if queries.shape[1] <= QUERY_BLOCK:
        mixed = _mixed(queries, keys, values, mask, pages)
    else:
        keys, values = keys.contiguous(), values.contiguous()
        count = -(-queries.shape[1] // QUERY_BLOCK)  # of equal size: a rest of few queries would be summed another way
        blocks = zip(torch.tensor_split(queries, count, 1), torch.tensor_split(mask, count, 1), strict=True)
        mixed = torch.cat([_mixed(block, keys, values, its_mask, pages) for block, its_mask in blocks], 1)
    return mixed.view(sequences, groups, rows, -1).transpose(1, 2).reshape(sequences, rows, heads * width)


def _mixed(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, pages: int) -> Tensor:
    scores = torch.bmm(queries, keys)
    scores.view(len(mask), -1, *scores.shape[1:]).add_(mask[:, None])
    return mix(torch.softmax(scores, -1), values, pages)


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


def build_mask(
    pages: Pages,
    placements: Sequence[Placement],
    rows: int,
    size: int,
    window: int | None,
    sharing: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """What is added to scores, 0 where a query may look, else minus infinity: (sequences, rows * sharing, size).

    One placement a sequence; where it has fewer than `rows`, the others see what was committed. `sharing` heads share
    a key.
    """
    slots = torch.arange(size, device=device)
    page, place = slots // pages.slots, slots % pages.slots
    held = torch.where(place < pages.positions, page * pages.positions + place, NEVER)
    padded = [[*each.positions, *each.positions[:1] * (rows - len(each.positions))] for each in placements]
    last = [
        positions if each.is_chain else [positions[0] - 1] * rows
        for each, positions in zip(placements, padded, strict=True)
    ]
    visible = held <= torch.tensor(last, device=device)[..., None]
    if window is not None:
        visible = visible & (held > torch.tensor(padded, device=device)[..., None] - window)
    seen = [
        (sequence, row, slot)
        for sequence, each in enumerate(placements)
        if not each.is_chain
        for row, lineage in enumerate(each.lineages)
        for ago, slot in enumerate(reversed(lineage))
        if window is None or ago < window
    ]
    if seen:
        visible[torch.tensor(seen, device=device).unbind(1)] = True
    mask = torch.zeros(visible.shape, dtype=dtype, device=device).masked_fill_(~visible, -torch.inf)
    return mask.repeat_interleave(sharing, dim=1)
