"""No text can command the terminal that shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.text.visible import visible, visible_token


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


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" the", "␣the"),
        ("\n\n    ", "⏎⏎␣␣␣␣"),
        ("\tx\r", "⇥x␍"),
        ("日本", "日本"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("\u200d", "⟨U+200D⟩"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("\x1b[2J", "␛[2J"),
        ("\u2028", "⟨U+2028⟩"),
    ],
)
def test_a_token_shows_where_it_begins_and_ends(token: str, shown: str) -> None:
    assert visible_token(token) == shown


@given(st.text(min_size=1))
def test_a_token_has_no_blank_no_control_character_and_nothing_that_is_not_seen(text: str) -> None:
    shown = visible_token(text)
    assert shown.strip()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Cf", "Zs", "Zl", "Zp"}
