"""Shared by the tests of models: an own cache folder each, and progress that can be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_models import save_tiny_llama, write_tiny_gguf


class RecordedProgress:
    """A `Progress` that keeps what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float | None]] = []

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        self.calls.append((activity, fraction))

    @property
    def activities(self) -> list[str]:
        return [activity for activity, _ in self.calls]


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder that no other test and no user shares."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(folder))
    return folder


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return save_tiny_llama(tmp_path / "llama")


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")
