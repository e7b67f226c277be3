"""Weights that have 4 bits already: found in the stored numbers, and run by a kernel that reads them as they are.

A quantised GGUF file holds most weights as 16 levels per group of 32: level * step + lowest. Written out as float32
they are still those numbers, so the levels can be found again. Reading 4 bits instead of 16 makes passes of few rows
much faster; from some 8 rows on bfloat16 is ahead. Steps and middles are rounded to bfloat16, which loses about
twice as much as rounding the weights themselves does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lookahead_cli.models.whole_file import written_whole

VERSION = 1
"""Part of the file's name: raise it when what is found changes."""
KERNEL = "_weight_int4pack_mm_for_cpu"
GROUP = 32
"""Inputs that share a step."""
LEVELS = 16
MIDDLE = 8
"""The level that the kernel takes as its zero."""
TOLERANCE = 2e-3
"""How far off a level a stored number may be, in steps: float32 rounding of level * step + lowest."""
OUTPUT_BLOCK = 64
"""Outputs must be a multiple of this."""
INNER_TILES = 2
"""The packed layout of torch's kernel for processors."""
SAMPLE = 64
"""Outputs looked at first, so that weights of more bits are passed over quickly."""


@dataclass(frozen=True)
class FourBitWeight:
    """A weight (outputs, inputs) as the kernel takes it."""

    packed: Tensor
    """(outputs, inputs / 2) uint8, two levels a byte, in an order of the kernel's own."""
    steps: Tensor
    """(inputs / GROUP, outputs, 2) bfloat16: the step and the middle of each group."""

    def __call__(self, rows: Tensor) -> Tensor:
        """Products (n, outputs) bfloat16 with `rows` (n, inputs) bfloat16."""
        products: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(rows, self.packed, GROUP, self.steps)
        return products


def can_run(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether there is a kernel that is worth it."""
    capable = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return device.type == "cpu" and dtype == torch.bfloat16 and capable and hasattr(torch.ops.aten, KERNEL)


class FourBitWeights:
    """What has been found in a model, kept in a file: the search takes seconds, mapping the file none."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is where to keep it, None: nowhere. What is there is used if it was made by the same torch."""
        layout = f"{torch.__version__}-{torch.backends.cpu.get_cpu_capability()}"
        self.file = None if folder is None else folder / f"four-bit-v{VERSION}-{layout}.safetensors"
        self.found: dict[str, FourBitWeight] = {}
        self.kept = False
        """Whether the file has been read: then what is not in it has more bits."""
        if self.file is not None and self.file.is_file():
            with suppress(OSError, SafetensorError, KeyError), safe_open(self.file, framework="pt") as opened:
                names = {key.rpartition(".")[0] for key in opened.keys()}  # noqa: SIM118 - it is no mapping
                self.found = {
                    name: FourBitWeight(opened.get_tensor(f"{name}.packed"), opened.get_tensor(f"{name}.steps"))
                    for name in names
                }
                self.kept = True

    def find(self, name: str, read: Callable[[], Tensor]) -> FourBitWeight | None:
        """The weight called `name` if it has 4 bits; `read` gives it as it is stored."""
        if not self.kept and name not in self.found:
            weight = read()
            if find_levels(weight[:SAMPLE].float()) is not None and (levels := find_levels(weight.float())) is not None:
                self.found[name] = levels
        return self.found.get(name)

    def keep(self) -> None:
        """Write the file, if that has not been done."""
        if self.kept or self.file is None or not self.found:
            return
        tensors = {f"{name}.packed": weight.packed for name, weight in self.found.items()}
        tensors |= {f"{name}.steps": weight.steps for name, weight in self.found.items()}
        # A cache that cannot be written to costs seconds, nothing else.
        with suppress(OSError), written_whole(self.file) as unfinished:
            save_file(tensors, unfinished)
            unfinished.chmod(0o644)  # safetensors files begin as private ones, but a cache can be shared


def find_levels(weight: Tensor) -> FourBitWeight | None:
    """`weight` (outputs, inputs) float32 in 4 bits, if that is all it has; else None."""
    outputs, inputs = weight.shape
    if inputs % GROUP or outputs % OUTPUT_BLOCK:
        return None
    groups = weight.view(-1, GROUP)
    lowest, highest = groups.amin(1, keepdim=True), groups.amax(1, keepdim=True)
    levels = torch.zeros(groups.shape)
    step = torch.zeros_like(lowest)
    open_groups = torch.arange(len(groups))
    # A group need not use all levels. Where several numbers of them fit, the weights come out the same.
    for span in range(LEVELS - 1, 0, -1):
        low = lowest[open_groups]
        width = (highest[open_groups] - low) / span
        found = (groups[open_groups] - low) / width.clamp_min(torch.finfo(torch.float32).tiny)
        fits = ((found - found.round()).abs() <= TOLERANCE).all(1)
        chosen = open_groups[fits]
        levels[chosen], step[chosen] = found[fits].round(), width[fits]
        open_groups = open_groups[~fits]
        if not len(open_groups):
            break
    else:
        return None
    middle = lowest + MIDDLE * step
    steps = torch.stack([step, middle], -1).view(outputs, -1, 2).transpose(0, 1).contiguous().to(torch.bfloat16)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels.view(outputs, inputs).int(), INNER_TILES)
    return FourBitWeight(packed, steps)
