"""What all tests of decoding have in common: their models are tiny."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def tiny_models(one_thread: None) -> None:
    """Every test runs on one thread."""
