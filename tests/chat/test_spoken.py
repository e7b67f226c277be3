"""The tokens of a conversation stay those that were said, and always spell the text the model is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.chat.spoken import Spoken
from tests.tiny_models import tiny_tokenizer

TOKENIZER = tiny_tokenizer()
texts = st.text(st.sampled_from("helo wrdning\n"), max_size=12)


def encode(text: str) -> list[int]:
    ids: list[int] = TOKENIZER(text, add_special_tokens=False)["input_ids"]
    return ids


def letters(text: str) -> list[int]:
    """The same text in other tokens: one for each letter."""
    return [token for letter in text for token in encode(letter)]


def shown(turns: list[tuple[str, str]], question: str) -> str:
    said = "".join(f"<|im_start|>{asked}<|im_end|><|im_start|>{answer}<|im_end|>" for asked, answer in turns)
    return f"{said}<|im_start|>{question}<|im_end|><|im_start|>"


@given(st.lists(st.tuples(texts, texts.filter(bool)), max_size=4), texts)
def test_tokens_that_were_said_stay_and_all_spell_the_text(turns: list[tuple[str, str]], question: str) -> None:
    spoken = Spoken()
    for place, (asked, answer) in enumerate(turns):
        spoken = spoken.going_on(shown(turns[:place], asked), encode).with_more(answer, letters(answer))
    following = spoken.going_on(shown(turns, question), encode)
    assert following.ids[: len(spoken.ids)] == spoken.ids
    assert following.text == shown(turns, question) == TOKENIZER.decode(list(following.ids))


@given(texts.filter(bool), texts)
def test_what_is_taken_back_leaves_what_was_before(answer: str, question: str) -> None:
    first = Spoken().going_on(shown([], "hello"), encode)
    again = first.with_more(answer, letters(answer)).going_on(shown([], "hello"), encode)
    assert again.ids == first.ids
    other = first.with_more(answer, letters(answer)).going_on(shown([], question + "?"), encode)
    assert list(other.ids) == encode(shown([], question + "?"))


def test_a_rest_that_would_be_tokenised_in_another_way_by_itself_makes_all_of_it_anew() -> None:
    spoken = Spoken().with_more("hell", letters("hell"))
    assert list(spoken.going_on("hello", encode).ids) == encode("hello") != letters("hello")
