"""Main memory: of the machine, and what a container leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from lookahead_cli.machine.limits import Limits, read_limits


@dataclass(frozen=True)
class Memory:
    """In bytes."""

    total: int
    free: int
    """What a program could have."""
    limit: int | None
    """Of the container, where that is less than all."""


def read_memory(limits: Limits | None = None) -> Memory:
    """Look at the machine."""
    limits = read_limits() if limits is None else limits
    whole = psutil.virtual_memory()
    limit = limits.memory if limits.memory is not None and limits.memory < whole.total else None
    left = limits.memory_left
    return Memory(whole.total, whole.available if left is None else min(whole.available, left), limit)
