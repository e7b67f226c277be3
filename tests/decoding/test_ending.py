"""A generation ends where plain decoding would, wherever in an accepted run that is."""

from __future__ import annotations

from typing import Any

import pytest

from lookahead_cli.decoding.ending import Ending
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.text.transcript import Transcript
from tests.decoding.decoded import run, tokenizer
from tests.decoding.known_future import KnownFutureDrafter
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, tiny_model

PROMPT = [5, 6, 7]
COUNT = 24


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model(REWINDABLE["llama"]())


@pytest.fixture(scope="module")
def future(model: Any) -> list[int]:
    return greedy_tokens(model, PROMPT, COUNT)


@pytest.mark.parametrize("k", [1, 4, 7, COUNT])
def test_end_of_text_anywhere_in_an_accepted_run(model: Any, future: list[int], k: int) -> None:
    runner = TransformersRunner(model)
    for eos in set(future):
        decoded = run(runner, PROMPT, drafts=KnownFutureDrafter(future, k), eos=frozenset({eos}), max_new_tokens=COUNT)
        assert decoded.tokens == future[: future.index(eos) + 1]
        assert decoded.finish_reason == "eos"
        assert decoded.text == tokenizer().decode(decoded.tokens[:-1], skip_special_tokens=True)
        # Guesses behind the end were never said, so they do not count as accepted.
        assert decoded.statistics.accepted + decoded.statistics.steps in (len(decoded.tokens), len(decoded.tokens) + 1)


@pytest.mark.parametrize("k", [1, 4, 7, COUNT])
def test_several_end_of_text_ids_end_at_the_first(model: Any, future: list[int], k: int) -> None:
    eos = frozenset(future[9:12])
    expected = future[: min(future.index(token) for token in eos) + 1]
    drafter = KnownFutureDrafter(future, k)
    decoded = run(TransformersRunner(model), PROMPT, drafts=drafter, eos=eos, max_new_tokens=COUNT)
    assert decoded.tokens == expected


@pytest.mark.parametrize("k", [1, 4, 7, COUNT])
@pytest.mark.parametrize("count", [1, 2, 5, 13, COUNT])
def test_length_and_context_anywhere_in_an_accepted_run(model: Any, future: list[int], k: int, count: int) -> None:
    runner = TransformersRunner(model)
    length = run(runner, PROMPT, drafts=KnownFutureDrafter(future, k), max_new_tokens=count)
    assert (length.tokens, length.finish_reason) == (future[:count], "length")
    context = run(
        runner, PROMPT, drafts=KnownFutureDrafter(future, k), max_new_tokens=1000, context_length=len(PROMPT) + count
    )
    assert (context.tokens, context.finish_reason) == (future[:count], "context")
    # Nothing is drafted for places that do not exist: the last token is always the model's own.
    for decoded in (length, context):
        assert decoded.statistics.drafted == decoded.statistics.accepted == count - decoded.statistics.steps


@pytest.mark.parametrize("k", [1, 4, 7, COUNT])
def test_stop_strings_anywhere_in_an_accepted_run(model: Any, future: list[int], k: int) -> None:
    runner = TransformersRunner(model)
    whole = tokenizer().decode(future, skip_special_tokens=True)
    for start in range(0, len(whole) - 3, 2):
        stop = whole[start : start + 3]
        if "\ufffd" in stop:
            continue
        plain = run(runner, PROMPT, strategy="greedy", stop=[stop], max_new_tokens=COUNT)
        decoded = run(runner, PROMPT, drafts=KnownFutureDrafter(future, k), stop=[stop], max_new_tokens=COUNT)
        assert decoded.finish_reason == plain.finish_reason == "stop"
        assert decoded.tokens == plain.tokens
        assert decoded.text == plain.text == whole[: whole.index(stop)]


def test_a_stop_string_that_only_the_very_end_completes_is_a_stop() -> None:
    half = tokenizer().encode("😀", add_special_tokens=False).ids[:2]
    ending = Ending(
        Transcript(tokenizer(), ["\ufffd"]), eos_token_ids=frozenset(), max_new_tokens=2, prompt_tokens=1,
        context_length=99,
    )  # fmt: skip
    assert [ending.take(token) for token in half] == [("", None), ("", "stop")]


def test_the_drafter_hears_of_every_step_but_the_last(model: Any, future: list[int]) -> None:
    drafter = KnownFutureDrafter(future, k=4, wrong=frozenset({2, 3, 11}))
    decoded = run(TransformersRunner(model), PROMPT, drafts=drafter, max_new_tokens=COUNT)
    assert len(drafter.observed) == decoded.statistics.steps - 1
    position = len(PROMPT)
    for step, event in zip(drafter.observed, decoded.steps, strict=False):
        assert step.position == position
        assert step.logits.shape == (1 + len(step.draft), 97)
        position += len(event.token_ids)
        assert step.next_position == position
