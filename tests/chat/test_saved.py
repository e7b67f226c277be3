"""Conversations in files: what is saved is what is loaded, and nothing else is overwritten or believed."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.chat.conversation import Conversation, Turn
from lookahead_cli.chat.saved import file_named, load_conversation, save_conversation
from lookahead_cli.errors import PromptError, ResourceError

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(texts | st.just(""), st.lists(st.builds(Turn, texts, texts), max_size=5))
def test_a_conversation_survives_the_file(system: str, turns: list[Turn]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "talk.json"
        save_conversation(Conversation(system, turns), path)
        assert load_conversation(path) == Conversation(system, turns)


def test_dropped_turns_are_saved_too(tmp_path: Path) -> None:
    save_conversation(Conversation(turns=[Turn("a", "b"), Turn("c", "d")], dropped=1), tmp_path / "talk.json")
    assert load_conversation(tmp_path / "talk.json").turns[0] == Turn("a", "b")


def test_a_bare_list_of_messages_is_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')
    assert load_conversation(path) == Conversation(turns=[Turn("hi", "hello")])


def test_a_question_without_an_answer_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    assert load_conversation(path).turns == []


@pytest.mark.parametrize("name", ["a\0b", "~nobody-has-this-name/x", "x" * 300])
def test_what_cannot_be_the_name_of_a_file_is_told_shortly(name: str) -> None:
    with pytest.raises(PromptError, match="cannot be the name of a file") as told:
        file_named(name)
    assert len(str(told.value)) < 200


def test_a_file_that_is_not_there_yet_can_be_named(tmp_path: Path) -> None:
    assert file_named(f"{tmp_path}/new/talk.json") == tmp_path / "new" / "talk.json"


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_devices_without_an_end_are_not_read(device: str) -> None:
    with pytest.raises(PromptError, match="it is a device"):
        load_conversation(Path(device))
    with pytest.raises(PromptError, match="exists and is no conversation"):
        save_conversation(Conversation(turns=[Turn("a", "b")]), Path(device))


def test_what_is_wrong_is_told_shortly(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": ["user"] * 100_000, "content": "hi"}]))
    with pytest.raises(PromptError, match="message 1 is by") as told:
        load_conversation(path)
    assert len(str(told.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "it is not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"3", 'there is no list "messages"'),
        (b'{"messages": {}}', 'there is no list "messages"'),
        (b'{"messages": ["hi"]}', "message 1 has no text"),
        (b'{"messages": [{"role": "user", "content": 3}]}', "message 1 has no text"),
        (b'{"messages": [{"role": "assistant", "content": "hi"}]}', "message 1 is by 'assistant'"),
        (b'{"messages": [{"role": "tool", "content": "hi"}]}', "message 1 is by 'tool'"),
        (
            b'{"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}',
            "message 2 is by 'user'",
        ),
    ],
)
def test_what_is_no_conversation_is_refused_in_a_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(content)
    with pytest.raises(PromptError, match=message):
        load_conversation(path)


def test_a_file_that_is_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    with pytest.raises(PromptError, match="exists and is no conversation"):
        save_conversation(Conversation(turns=[Turn("a", "b")]), path)
    assert path.read_text() == "years of work"


def test_a_conversation_may_be_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    for turns in ([Turn("a", "b")], [Turn("a", "b"), Turn("c", "d")]):
        save_conversation(Conversation(turns=turns), path)
    assert len(json.loads(path.read_text())["messages"]) == 4


def test_missing_files_and_folders_that_cannot_be_written_to_are_told(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="No such file"):
        load_conversation(tmp_path / "nothing.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match="cannot be written"):
        save_conversation(Conversation(turns=[Turn("a", "b")]), tmp_path / "file" / "talk.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
