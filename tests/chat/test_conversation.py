"""What of a conversation the model is shown, and which turns are dropped first."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.chat.conversation import Conversation, Turn
from lookahead_cli.text.chat import Message


def letters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def test_the_model_is_shown_all_turns_in_order_and_the_question_last() -> None:
    asked = Conversation("be kind", [Turn("a", "b")]).asking("c")
    assert [(message["role"], message["content"]) for message in asked.messages] == [
        ("user", "a"), ("assistant", "b"), ("user", "c"),
    ]  # fmt: skip


def test_asking_leaves_the_conversation_as_it_was() -> None:
    conversation = Conversation(turns=[Turn("a", "b")])
    conversation.asking("c")
    assert len(conversation.turns) == 1


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=12),
    st.integers(1, 200),
    st.integers(0, 50),
)
def test_the_oldest_turns_are_dropped_and_no_more_than_needed(
    sizes: list[tuple[int, int]], most: int, spare: int
) -> None:
    conversation = Conversation(turns=[Turn("u" * said, "a" * answer) for said, answer in sizes])
    enough = max(most - spare, 0)
    fitted = conversation.fitting(letters, most, enough)
    assert fitted.turns == conversation.turns, "nothing is forgotten by us"
    if letters(conversation.messages) <= most:
        assert fitted.dropped == 0
        return
    last_only = fitted.dropped == len(sizes) - 1
    assert letters(fitted.messages) <= enough or last_only
    if fitted.dropped > 1:
        one_more = Conversation(turns=conversation.turns, dropped=fitted.dropped - 1)
        assert letters(one_more.messages) > enough


def test_tokens_are_counted_a_few_times_however_long_the_conversation_is() -> None:
    counted = []

    def count(messages: Sequence[Message]) -> int:
        counted.append(letters(messages))
        return counted[-1]

    long = Conversation(turns=[Turn("a", "b") for _ in range(5000)])
    assert long.fitting(count, 100, 80).dropped == 4960
    assert len(counted) < 20


def test_what_was_dropped_stays_dropped() -> None:
    conversation = Conversation(turns=[Turn("a" * 9, "b"), Turn("c", "d")], dropped=1)
    assert conversation.fitting(letters, 100, 90).dropped == 1
