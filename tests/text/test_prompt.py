"""Prompts from flags, files and standard input."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.errors import PromptError
from lookahead_cli.text.prompt import decode_prompt, join_prompt, read_prompt_file


def test_parts_are_joined_by_a_blank_line_and_missing_ones_left_out() -> None:
    assert join_prompt("content", "ask") == "content\n\nask"
    assert join_prompt(None, "", "ask") == "ask"


@pytest.mark.parametrize("parts", [(), (None,), ("",), (" \n\t",), ("", None, " ")])
def test_nothing_but_white_space_is_no_prompt(parts: tuple[str | None, ...]) -> None:
    with pytest.raises(PromptError, match="the prompt is empty"):
        join_prompt(*parts)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\n", "a"),
        (b"a\r\n", "a"),
        (b"a\n\n", "a\n"),
        (b"  a  ", "  a  "),
        (b"\xef\xbb\xbfa", "a"),
        ("日本 😀".encode(), "日本 😀"),
    ],
)
def test_one_final_line_break_goes_and_everything_else_stays(content: bytes, text: str) -> None:
    assert decode_prompt(content, "standard input") == text


def test_files_that_are_not_text_are_refused_by_name(tmp_path: Path) -> None:
    for name, content in (("latin1", "é".encode("latin-1")), ("zip", b"PK\0\1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PromptError, match=name):
            read_prompt_file(tmp_path / name)
    with pytest.raises(PromptError, match="missing"):
        read_prompt_file(tmp_path / "missing")


def test_the_byte_that_is_no_text_is_told_after_a_byte_order_mark_too() -> None:
    for content in (b"ab\xff", b"\xef\xbb\xbfab\xff"):
        with pytest.raises(PromptError, match=r"byte 2 is 0xff"):
            decode_prompt(content, "standard input")
