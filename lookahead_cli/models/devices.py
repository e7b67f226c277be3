"""Which device a model runs on, in which dtype, and whether there is memory for it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.machine.limits import read_limits

if TYPE_CHECKING:
    import torch

_NAME = re.compile(r"cpu|mps|cuda(:(?P<index>\d+))?")


def choose_device(device: str) -> torch.device:
    """The torch device of that name; "auto" is the first of cuda, mps, cpu that is there. Raises ModelError."""
    import torch

    present = present_devices()
    if device == "auto":
        return torch.device(present[0])
    match = _NAME.fullmatch(device)
    if match is None:
        raise ModelError(
            f"device is {device!r}, which is not auto, cpu, cuda, cuda:N or mps; here is {_list(present)}."
        )
    wanted = "cuda:0" if device == "cuda" else device
    if wanted not in present:
        raise ModelError(
            f"device is {device!r}, but this machine has only {_list(present)}; choose one of these or auto."
        )
    return torch.device(wanted)


def present_devices() -> list[str]:
    """The devices of this machine, best first, "cpu" always the last."""
    import torch

    cuda = [f"cuda:{index}" for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*cuda, *mps, "cpu"]


def half_precision(device: torch.device) -> torch.dtype:
    """The dtype in which models run fast on `device`: half precision, or float32 on a processor not made for it."""
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device.type == "mps":
        return torch.float16
    return torch.bfloat16 if multiplies_bfloat16() else torch.float32


def transformers_dtype(asked: str, device: torch.device) -> torch.dtype:
    """The dtype in which transformers computes a model. Its rows depend on their neighbours in half precision: on a
    processor "auto" stays with exact tokens."""
    import torch

    return named_dtype(asked) or (torch.float32 if device.type == "cpu" else half_precision(device))


def named_dtype(name: str) -> torch.dtype | None:
    """The torch dtype of that name; None for "auto"."""
    import torch

    return None if name == "auto" else getattr(torch, name)


def name_of(dtype: torch.dtype) -> str:
    """ "float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")


def multiplies_bfloat16() -> bool:
    """Whether this processor has instructions for bfloat16, without which it is slower than float32."""
    import torch

    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    has_kernels: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return has_kernels and any(getattr(torch.cpu, probe, bool)() for probe in probes)


def require_memory(needed: int, device: torch.device, what: str) -> None:
    """Raise ResourceError with both numbers if `device` has less than `needed` bytes free for `what`."""
    free = free_memory(device)
    if free < needed:
        raise ResourceError(
            f"{what} needs {needed / 1e9:.1f} GB of memory on {device}, but only {free / 1e9:.1f} GB is free: choose a "
            "smaller model or a smaller dtype, or close other programs"
        )


def free_memory(device: torch.device) -> float:
    """Bytes that could be had on `device`; infinite where nobody says."""
    import torch

    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return free_main_memory()


def free_main_memory() -> float:
    """Bytes that a program could have, in a container of what that may use; infinite where the system does not say."""
    left = read_limits().memory_left
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        free = math.inf
    return free if left is None else min(free, left)


def _list(devices: list[str]) -> str:
    return ", ".join(devices)
