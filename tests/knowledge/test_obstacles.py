"""What a run finds out about guesses with a model is known to the next command."""

from __future__ import annotations

from pathlib import Path

import pytest

import lookahead_cli as lookahead
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.knowledge.obstacles import Obstacles, kept_obstacles
from tests.tiny_models import save_tiny_llama


def test_a_session_with_transformers_keeps_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))
    model = save_tiny_llama(tmp_path / "llama")
    lookahead.open_session(lookahead.load_settings(source=str(model), runner="lean"))
    assert kept_obstacles(knowledge_folder(model)) is None
    lookahead.open_session(lookahead.load_settings(source=str(model), runner="transformers"))
    assert kept_obstacles(knowledge_folder(model)) == Obstacles(rewind=None, tree=None)
