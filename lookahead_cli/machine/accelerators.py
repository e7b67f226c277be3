"""What torch can use of the machine: instructions of the processor, and other devices than that."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.models.devices import multiplies_bfloat16, present_devices

DRIVER = Path("/proc/driver/nvidia/version")
INSTRUCTIONS = {
    "AVX2": "_is_avx2_supported",
    "AVX512": "_is_avx512_supported",
    "AVX512-BF16": "_is_avx512_bf16_supported",
    "AMX": "_is_amx_tile_supported",
}
"""Name -> the probe of torch.cpu."""


@dataclass(frozen=True)
class Instructions:
    """What the processor can do that matters for speed."""

    names: list[str]
    kernels: str
    """The set that torch's own kernels use."""
    multiplies_bfloat16: bool
    """Whether half precision is fast on it."""


@dataclass(frozen=True)
class Accelerator:
    device: str
    name: str
    memory: int | None
    """Bytes; None where it shares main memory."""
    free: int | None


def read_instructions() -> Instructions:
    """Ask torch."""
    import torch

    names = [name for name, probe in INSTRUCTIONS.items() if getattr(torch.cpu, probe, bool)()]
    return Instructions(names, torch.backends.cpu.get_cpu_capability(), multiplies_bfloat16())


def read_accelerators() -> list[Accelerator]:
    """The devices beside the processor, best first."""
    import torch

    found = []
    for device in present_devices()[:-1]:
        if device == "mps":
            found.append(Accelerator(device, "Apple GPU (Metal)", None, None))
        else:
            free, memory = torch.cuda.mem_get_info(torch.device(device))
            found.append(Accelerator(device, torch.cuda.get_device_name(device), memory, free))
    return found


def has_idle_nvidia() -> bool:
    """Whether there is a GPU of NVIDIA that this torch cannot use."""
    import torch

    there = DRIVER.exists() or shutil.which("nvidia-smi") is not None
    return there and not torch.cuda.is_available()
