"""The processor: what it is, and how much of it this process may use."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lookahead_cli.machine.limits import Limits, read_limits

CPU_INFO = Path("/proc/cpuinfo")
ASKING_SECONDS = 5


@dataclass(frozen=True)
class Processor:
    name: str
    cores: int
    """Of the machine, as its system counts them."""
    usable: float
    """Of these, what this process may use."""
    limited_by: str
    """In words what keeps it from using the others; empty: nothing."""
    load: float | None
    """Programs that wanted to compute at a time, on average of the last minute; None where the system does not say."""


def read_processor(limits: Limits | None = None) -> Processor:
    """Look at the machine."""
    limits = read_limits() if limits is None else limits
    cores = os.cpu_count() or 1
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    usable: float = bound
    limited_by = "bound to them" if bound < cores else ""
    if limits.cores is not None and limits.cores < usable:
        usable, limited_by = limits.cores, "the limit of its container"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return Processor(processor_name(), cores, usable, limited_by, load)


def processor_name() -> str:
    """What its maker calls it, or at least of which kind it is."""
    is_mac = platform.system() == "Darwin"
    named = _asked("sysctl", "-n", "machdep.cpu.brand_string") if is_mac else _read(CPU_INFO)
    return named or platform.processor() or platform.machine() or "unknown"


def _read(file: Path) -> str:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _asked(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=ASKING_SECONDS, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
