"""Which device a model runs on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lookahead_cli.errors import ModelError

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


def _list(devices: list[str]) -> str:
    return ", ".join(devices)
