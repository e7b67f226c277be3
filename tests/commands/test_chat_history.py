"""What was typed in earlier chats: any state of its file is no reason not to talk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.commands.chat_input import line_editor


def history_of(folder: Path) -> Any:
    return line_editor(folder / "state" / "chat-history", lambda _: []).history


@pytest.mark.parametrize("what", ["/dev/full", "/dev/zero"])
def test_a_history_that_is_no_file_is_left_alone(tmp_path: Path, what: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "chat-history").symlink_to(what)
    history = history_of(tmp_path)
    history.append_string("hello")
    assert history.get_strings() == ["hello"]


def test_a_history_that_takes_no_more_is_no_reason_not_to_talk(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    history.append_string("hello")
    file = tmp_path / "state" / "chat-history"
    file.unlink()
    file.mkdir()
    history.append_string("more")
    assert history.get_strings() == ["hello", "more"]


def test_a_history_that_cannot_be_read_any_more_is_empty(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    file = tmp_path / "state" / "chat-history"
    file.unlink()
    file.mkdir()
    assert list(history.load_history_strings()) == []


def test_a_file_full_of_anything_is_a_history(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "chat-history").write_bytes(b"\n+hello\n\x00\xff\n+\xff\x1b\n" + os.urandom(1000))
    assert "hello" in list(history_of(tmp_path).load_history_strings())
