"""Every token can be called by something that shows where it begins and ends."""

from __future__ import annotations

import pytest

from lookahead_cli.text.token_labels import TokenLabels, byte_alphabet, bytes_of
from tests.text.test_transcript import byte_level, metaspace
from tests.tiny_models import TURN_END


def id_of(name: str) -> int:
    token = metaspace().token_to_id(name)
    assert token is not None
    return token


@pytest.mark.parametrize("text", ["the", "ahead", " ", "\n", "a"])
def test_a_token_is_called_by_its_text(text: str) -> None:
    [token] = byte_level().encode(text, add_special_tokens=False).ids
    assert TokenLabels(byte_level())(token) == text


def test_blanks_at_the_beginning_of_a_word_are_part_of_it() -> None:
    label = TokenLabels(metaspace())
    assert [label(id_of(name)) for name in ("▁a", "▁", "ab", "日")] == [" a", " ", "ab", "日"]


def test_special_tokens_are_called_by_their_name() -> None:
    assert TokenLabels(byte_level())(TURN_END) == "<|im_end|>"
    assert TokenLabels(metaspace())(1) == "</s>"


def test_bytes_that_are_no_character_are_called_by_their_numbers() -> None:
    label = TokenLabels(byte_level())
    parts = byte_level().encode("😀", add_special_tokens=False).ids
    assert "".join(map(label, parts)) == "⟨F0⟩⟨9F⟩⟨98⟩⟨80⟩"
    assert TokenLabels(metaspace())(id_of("<0xE6>")) == "⟨E6⟩"


def test_a_token_without_text_is_called_by_its_number() -> None:
    assert TokenLabels(byte_level())(10_000) == "⟨#10000⟩"


def test_every_token_has_a_label() -> None:
    for tokenizer in (byte_level(), metaspace()):
        label = TokenLabels(tokenizer)
        assert all(label(token) for token in range(tokenizer.get_vocab_size()))


def test_the_alphabet_of_bytes_is_that_of_byte_level_tokenizers() -> None:
    from tokenizers import pre_tokenizers

    alphabet = byte_alphabet()
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(alphabet.values()) == list(range(256))
    assert bytes_of("Ġa") == b" a"
    assert bytes_of("<0xzz>") == b""
    assert bytes_of("日") == b""
