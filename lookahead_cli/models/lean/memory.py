"""Sentences with numbers where the memory for a pass or a cache does not suffice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from lookahead_cli.models.devices import free_memory
from lookahead_cli.models.failures import memory_failure


@contextmanager
def memory_told(device: torch.device, failed: str) -> Iterator[None]:
    """Say in one sentence, with numbers, if the memory of `device` does not suffice. Raises ResourceError."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        lack = memory_failure(
            error,
            f"{failed} on {device}, where {free_memory(device) / 1e9:.2f} GB is free",
            "shorten the prompt or choose a smaller model or k",
        )
        if lack is None:
            raise
        raise lack from error
