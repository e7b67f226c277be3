"""Lines that are not for the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.chat.slash_commands import SLASH_COMMANDS, Order, completions, read_order, said
from lookahead_cli.commands.chat_loop import ORDERS
from lookahead_cli.errors import PromptError


@given(st.text(min_size=1))
def test_whatever_does_not_begin_with_a_slash_is_for_the_model(line: str) -> None:
    if not line.startswith("/"):
        assert read_order(line) is None
        assert said(line) == line
    assert read_order("//" + line) is None
    assert said("//" + line) == "/" + line


def test_an_order_has_a_name_and_what_stands_behind_it() -> None:
    assert read_order("/set temperature 0.7") == Order("set", "temperature 0.7")
    assert read_order("/help") == Order("help", "")
    assert read_order("/save  my talk.json ") == Order("save", "my talk.json")
    assert read_order("/quit") == read_order("/bye") == read_order("/exit")
    assert read_order("/clear") == read_order("/reset")
    assert read_order("/?") == read_order("/help")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/hlep", '/hlep is not a command; did you mean "/help"'),
        ("/", "is not a command"),
        ("/usr/bin is a folder", "type two"),
        ("/save", "/save lacks something: type /save FILE"),
        ("/reset everything", "/reset takes nothing behind it"),
    ],
)
def test_what_cannot_be_meant_is_told(line: str, message: str) -> None:
    with pytest.raises(PromptError, match=message):
        read_order(line)


def test_every_command_of_the_list_is_obeyed() -> None:
    assert set(ORDERS) == set(SLASH_COMMANDS)


def test_commands_keys_and_words_are_completed() -> None:
    assert completions("/re") == ["/retry", "/reset"]
    assert completions("/set temp") == ["temperature"]
    assert completions("/set strategy gr") == ["greedy"]
    assert "greedy" in completions("/profile ")
    assert completions("hello /re") == completions("/save x") == completions('"""\n/re') == []
