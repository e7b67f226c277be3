"""Text as it streams: whole characters, nothing of a stop string, and in the end exactly the decoded tokens."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from lookahead_cli.text.stops import StopStrings
from lookahead_cli.text.transcript import Transcript
from tests.tiny_models import tiny_tokenizer

texts = st.text(alphabet=st.sampled_from("ab \n😀日本é👩‍🚀[]\x1b"), max_size=30)


@cache
def byte_level() -> Any:
    return tiny_tokenizer().backend_tokenizer


@cache
def metaspace() -> Tokenizer:
    """The SentencePiece kind: a word's blank is part of it, unknown characters are spelt in bytes."""
    pieces = ["<unk>", "</s>", *[f"<0x{byte:02X}>" for byte in range(256)], "▁", "▁a", "▁b", "a", "b", "ab", "日"]
    tokenizer = Tokenizer(
        models.BPE({piece: number for number, piece in enumerate(pieces)}, [("a", "b")], unk_token="<unk>",
                   byte_fallback=True, fuse_unk=True)
    )  # fmt: skip
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken("</s>", special=True)])
    return tokenizer


def stream(tokenizer: Any, ids: list[int], stops: tuple[str, ...] = ()) -> list[str]:
    transcript = Transcript(tokenizer, stops)
    pieces = []
    for token in ids:
        pieces.append(transcript.add(token))
        if transcript.stopped:
            return pieces
    return [*pieces, transcript.finish()]


@given(text=texts)
def test_pieces_join_to_the_text_and_never_show_half_a_character(text: str) -> None:
    for tokenizer in (byte_level(), metaspace()):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        pieces = stream(tokenizer, ids)
        assert "".join(pieces) == tokenizer.decode(ids, skip_special_tokens=True)
        assert "�" not in "".join(pieces)


@given(ids=st.lists(st.integers(0, 280), max_size=15))
def test_any_tokens_at_all_join_to_what_the_tokenizer_decodes(ids: list[int]) -> None:
    assert "".join(stream(byte_level(), ids)) == byte_level().decode(ids, skip_special_tokens=True)


@given(ids=st.lists(st.integers(0, 264), max_size=15))
def test_malformed_bytes_lose_no_other_character(ids: list[int]) -> None:
    """Byte fallback decodes a malformed run anew with each token: what is shown stays, what follows comes whole."""
    shown = iter("".join(stream(metaspace(), ids)))
    pieces = [metaspace().id_to_token(token) or "" for token in ids]
    assert all(letter in shown for piece in pieces if len(piece) <= 2 for letter in piece.strip("▁"))


def test_a_text_that_continues_another_keeps_the_blank_it_begins_with() -> None:
    vocabulary = metaspace().get_vocab()
    letter, blank_letter = vocabulary["a"], vocabulary["▁b"]
    assert Transcript(metaspace()).add(blank_letter) == "b"
    assert Transcript(metaspace(), context=[letter]).add(blank_letter) == " b"


def test_a_malformed_run_of_bytes_is_no_error() -> None:
    vocabulary = metaspace().get_vocab()
    newline, start, letter = vocabulary["<0x0A>"], vocabulary["<0xF0>"], vocabulary["a"]
    assert stream(metaspace(), [letter, newline, start, letter]) == ["a", "\n", "", "�a", ""]


def test_bytes_that_never_make_a_character_do_not_hold_the_text_back_for_ever() -> None:
    start = byte_level().encode("😀", add_special_tokens=False).ids[0]
    pieces = stream(byte_level(), [start] * 100)
    assert "".join(pieces) == "�" * 100
    assert any(pieces[:20])


@given(text=texts, stops=st.lists(st.text(alphabet="ab 😀日", min_size=1, max_size=4), max_size=3))
def test_output_ends_before_the_stop_string_that_is_complete_first(text: str, stops: list[str]) -> None:
    ids = byte_level().encode(text, add_special_tokens=False).ids
    decoded = [byte_level().decode(ids[:count]) for count in range(len(ids) + 1)]
    ended = next((prefix for prefix in decoded if any(stop in prefix for stop in stops)), None)
    expected = text if ended is None else ended[: min(ended.find(stop) for stop in stops if stop in ended)]
    assert "".join(stream(byte_level(), ids, tuple(stops))) == expected


@given(pieces=st.lists(st.text(alphabet="abc", max_size=3), max_size=12), stop=st.text("abc", min_size=1, max_size=5))
def test_a_stop_string_is_found_however_the_text_is_cut(pieces: list[str], stop: str) -> None:
    text = "".join(pieces)
    stops = StopStrings([stop])
    shown = "".join(stops.add(piece) for piece in pieces)
    assert stops.hit == (stop in text)
    assert shown + stops.finish() == (text[: text.find(stop)] if stop in text else text)


def test_what_cannot_become_a_stop_string_is_shown_at_once() -> None:
    stops = StopStrings(["END"])
    assert [stops.add(piece) for piece in ("a", "E", "N", "x", "E", "ND", "y")] == ["a", "", "", "ENx", "", "", ""]


@pytest.mark.parametrize("text", ["😀", "日"])
def test_a_character_cut_off_by_the_end_is_one_replacement_character(text: str) -> None:
    ids = byte_level().encode(text, add_special_tokens=False).ids
    assert stream(byte_level(), ids[:-1])[-1].startswith("�")
