"""Shared by the tests of the lean runner."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from lookahead_cli.models.lean.exactness import find_dependent_rows
from tests.lean_models import CPU, FAMILY, architecture_of, save_model

MakeFolder = Callable[[str], Path]


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> MakeFolder:
    """`saved("qwen2")`: the folder of a random model of that kind with a long context."""

    @cache
    def save(name: str) -> Path:
        folder = tmp_path_factory.mktemp("lean") / name
        save_model(folder, FAMILY[name](max_position_embeddings=2048))
        return folder

    return save


def require_exactness(folder: Path, dtype: torch.dtype) -> None:
    """Skip the test where rows of this model are known to depend on each other."""
    reason = find_dependent_rows(architecture_of(folder), dtype, CPU)
    if reason is not None:
        pytest.skip(f"not on this machine: {reason}")
