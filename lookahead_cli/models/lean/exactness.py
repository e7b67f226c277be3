"""Finding out on the machine at hand whether rows come out bit for bit the same whatever shares their pass.

What the lean runner's claim rests on are three kinds of products: linear layers must not care for the number of rows,
scores not for the place of a key, sums over a page of keys neither for the number of queries nor for masked gaps (see
`slots.py`). Each is tried with the model's own shapes, on numbers that nearly cancel, so that the last bits show.
"""

from __future__ import annotations

import platform
from pathlib import Path

import torch
from torch import Tensor

from lookahead_cli.models.cache import cache_folder
from lookahead_cli.models.devices import name_of
from lookahead_cli.models.index import add_to_index, read_index
from lookahead_cli.models.lean import fourbit
from lookahead_cli.models.lean.architecture import Architecture
from lookahead_cli.models.lean.attention import pages_for
from lookahead_cli.models.lean.forward import FEWEST_ROWS
from lookahead_cli.models.lean.runner import PREFILL_CHUNK
from lookahead_cli.models.lean.slots import Pages, Placement, place
from lookahead_cli.models.lean.weights import packer

VERSION = 1
"""Part of what a result is remembered by: raise it when what is tried, or what the runner does, changes."""
PROBES = ("_is_avx512_bf16_supported", "_is_amx_tile_supported", "_is_amx_fp16_supported")
TREES = 12
"""Random trees tried at each of the places in a page."""
NODES = 24


def dependent_rows(architecture: Architecture, dtype: torch.dtype, device: torch.device) -> str | None:
    """What `find_dependent_rows` says, tried once for each machine and shape and then remembered."""
    known = remembered_rows(architecture, dtype, device)
    if known is not None:
        return known or None
    found = find_dependent_rows(architecture, dtype, device)
    add_to_index(_index(), _key(architecture, dtype, device), found or "")
    return found


def remembered_rows(architecture: Architecture, dtype: torch.dtype, device: torch.device) -> str | None:
    """What was found by trying, "" if no row depends on others; None if it has not been tried."""
    known = read_index(_index()).get(_key(architecture, dtype, device))
    return known if isinstance(known, str) else None


def _index() -> Path:
    return cache_folder() / "exactness.json"


def _key(architecture: Architecture, dtype: torch.dtype, device: torch.device) -> str:
    return f"v{VERSION} {_machine(device)} {name_of(dtype)} {_shapes(architecture)}"


def _machine(device: torch.device) -> str:
    """What decides which kernels run."""
    if device.type == "cuda":
        return f"torch {torch.__version__} {torch.cuda.get_device_name(device)}"
    features = (torch.backends.cpu.get_cpu_capability(), *(getattr(torch.cpu, probe, bool)() for probe in PROBES))
    return f"torch {torch.__version__} {device.type} {platform.machine()} {features} {torch.get_num_threads()} threads"


def _shapes(shape: Architecture) -> str:
    return f"{shape.hidden}x{shape.intermediate} {shape.heads}/{shape.key_value_heads}x{shape.head_width}"


def find_dependent_rows(architecture: Architecture, dtype: torch.dtype, device: torch.device) -> str | None:
    """Which of the products does not keep its bits on `device`, in words; None if all do."""
    shape = architecture
    generator = torch.Generator().manual_seed(1)
    attention = shape.heads * shape.head_width
    sizes = {(shape.hidden, attention), (attention, shape.hidden), (shape.hidden, shape.intermediate)}
    for inputs, outputs in sorted(sizes | {(shape.intermediate, shape.hidden)}):
        if not _linear_keeps(inputs, outputs, dtype, device, generator):
            return f"a linear layer of {inputs} inputs gives other bits for other numbers of rows"
    if fourbit.can_run(dtype, device) and not _few_bits_keep(generator):
        return "a linear layer of 4 bits gives other bits for other numbers of rows"
    if not _sums_keep(shape, dtype, device, generator):
        return "sums over keys give other bits for other drafts"
    return None


def row_counts(fewest: int) -> list[int]:
    """Numbers of rows tried: all small ones, around powers of two, a whole prompt chunk."""
    return sorted({*range(fewest, 20), 24, 31, 32, 33, 48, 63, 64, 65, 100, 128, PREFILL_CHUNK})


@torch.inference_mode()
def _linear_keeps(
    inputs: int, outputs: int, dtype: torch.dtype, device: torch.device, generator: torch.Generator
) -> bool:
    outputs = min(outputs, 1024)  # what decides over the order of summation is the number of inputs
    weight = torch.randn((outputs, inputs), generator=generator)
    rows = torch.randn((PREFILL_CHUNK, inputs), generator=generator)
    half = inputs // 2
    rows[:, half : 2 * half] = -rows[:, :half]  # nearly cancels with
    weight[:, half : 2 * half] = weight[:, :half] * (1 + 1e-2)
    linear = packer(dtype, device)(weight.to(device, dtype), None, "none")
    given = rows.to(device, dtype)
    all_rows = linear(given)
    return all(torch.equal(linear(given[:count]), all_rows[:count]) for count in row_counts(FEWEST_ROWS[dtype]))


@torch.inference_mode()
def _few_bits_keep(generator: torch.Generator) -> bool:
    inputs, outputs = 16 * fourbit.GROUP, 4 * fourbit.OUTPUT_BLOCK
    levels = torch.randint(0, fourbit.LEVELS, (outputs, inputs), generator=generator)
    weight = fourbit.find_levels(levels * 0.01 - 0.07)
    assert weight is not None, "levels are what it finds"
    rows = torch.randn((PREFILL_CHUNK, inputs), generator=generator).bfloat16()
    all_rows = weight(rows)
    return all(torch.equal(weight(rows[:count]), all_rows[:count]) for count in row_counts(1))


@torch.inference_mode()
def _sums_keep(shape: Architecture, dtype: torch.dtype, device: torch.device, generator: torch.Generator) -> bool:
    """Whether a path of a random tree gets the sums that it gets as a chain of committed tokens."""
    pages = pages_for(dtype)
    groups, sharing, width = shape.key_value_heads, shape.heads // shape.key_value_heads, shape.head_width
    for length in range(pages.positions // 4 - 5, pages.positions - 12, pages.positions // 8 - 1):
        for trial in range(TREES):
            parents, path = _random_tree(pages, length, NODES + trial, generator)
            placement = place(pages, length, parents)
            end = length + 1 + len(path)
            values = torch.randn((groups, end, width), generator=generator)
            weights = torch.rand((groups, end), generator=generator)
            half = (end - 8) // 2
            values[:, half : 2 * half] = -values[:, :half]
            weights[:, half : 2 * half] = weights[:, :half]
            values, weights = values.to(device, dtype), weights.to(device, dtype)
            alone = _placed(values, weights, list(range(end)), pages.slots, FEWEST_ROWS[dtype] * sharing)
            slots = [*range(length), *placement.lineages[path[-1] + 1]]
            drafted = _placed(values, weights, slots, pages.slots, (1 + len(parents)) * sharing)
            if not torch.equal(alone[:, 0], drafted[:, 0]):
                return False
            chunk = _placed(values, weights, list(range(end)), pages.slots, PREFILL_CHUNK * sharing)
            if not torch.equal(alone[:, 0], chunk[:, 0]):
                return False
            if trial == 0 and not _scores_keep(values, slots, pages.slots, sharing):
                return False
    return True


def _placed(values: Tensor, weights: Tensor, slots: list[int], size: int, queries: int) -> Tensor:
    """The sums (groups, queries, width) over a page that holds `values` (groups, m, width) at `slots`."""
    groups, count, width = values.shape
    where = torch.tensor(slots, device=values.device)
    page = values.new_zeros((groups, size, width))
    page[:, where] = values
    by = values.new_zeros((groups, queries, size))
    by[:, :, where] = weights[:, None, :].expand(groups, queries, count)
    return torch.bmm(by, page)


def _scores_keep(keys: Tensor, slots: list[int], size: int, sharing: int) -> bool:
    """Whether a key has the same score at another slot, beside other queries."""
    groups, count, width = keys.shape
    queries = keys[:, :1].expand(groups, NODES * sharing, width).contiguous()
    alone, page = keys.new_zeros((groups, size, width)), keys.new_zeros((groups, 2 * size, width))
    alone[:, :count] = keys
    page[:, torch.tensor(slots, device=keys.device)] = keys
    few = torch.bmm(queries[:, : 4 * sharing], alone.transpose(1, 2))[:, 0, :count]
    many = torch.bmm(queries, page.transpose(1, 2))[:, 0, slots]
    return torch.equal(few, many)


def _random_tree(pages: Pages, length: int, nodes: int, generator: torch.Generator) -> tuple[list[int], list[int]]:
    """Parents of a tree that finds room after `length` entries, and the nodes of one of its longest paths."""
    placement = Placement(pages, length)
    parents: list[int] = []
    depth = [0]
    for _ in range(nodes):
        parent = int(torch.randint(-1, len(parents), (1,), generator=generator)) if parents else -1
        if placement.fits(parent):
            placement.take(parent)
            parents.append(parent)
            depth.append(depth[parent + 1] + 1)
    node = max(range(len(parents)), key=lambda candidate: depth[candidate + 1])
    path: list[int] = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return parents, path[::-1]
