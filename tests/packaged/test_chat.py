"""A conversation with the packaged model: only what is new is read, and the tokens are those of a fresh run."""

from __future__ import annotations

from typing import Any

import pytest

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.talk import Talk
from lookahead_cli.layers import load_settings
from lookahead_cli.session import open_session
from tests.oracle import greedy_tokens

TURNS = ("Name three rivers in France.", "Which of them is the longest?", "Write a short poem about it.")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["greedy", "lookahead"])
def test_three_turns_read_only_what_is_new_and_say_what_transformers_says(model: Any, strategy: str) -> None:
    wanted = load_settings("default", dtype="float32", weights="full", max_new_tokens=96, strategy=strategy)
    talk = Talk(open_session(wanted), Conversation())
    before: list[int] = []
    read = 0
    for said in TURNS:
        generation = talk.ask(said)
        list(generation)
        talk.keep()
        assert generation.token_ids == greedy_tokens(model, generation.prompt_ids, 96)
        assert generation.prompt_ids[: len(before)] == before
        assert generation.statistics.kept_tokens == read
        before = generation.prompt_ids + generation.token_ids
        read = len(before) - 1  # the last token said, perhaps the one that ends the answer, has not been read
        before = before[:read] if generation.finish_reason == "eos" else before
    assert len(before) > 200
