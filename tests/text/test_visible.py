"""No text can command the terminal that shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.text.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b\x7fc", "a␀b␡c"),
        ("over\rwritten\b", "over␍written␈"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("\u202eright to left", "⟨U+202E⟩right to left"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("[red]日本 👩‍🚀 é[/red]", "[red]日本 👩‍🚀 é[/red]"),
    ],
)
def test_control_characters_become_signs_and_text_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    assert not {unicodedata.category(character) for character in visible(text) if character not in "\n\t"} & {
        "Cc",
        "Cs",
    }
