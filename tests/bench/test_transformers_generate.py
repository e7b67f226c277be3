"""The thread in which transformers generates works only while somebody waits for its tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import torch

from lookahead_cli.bench.transformers_generate import Account, Stopwatch, one_step_at_a_time
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import PrefillEvent
from lookahead_cli.text.transcript import Transcript
from tests.tiny_models import tiny_tokenizer


def tokens_of(generate: Callable[[Stopwatch], None]) -> Iterator[list[int]]:
    return (tokens for tokens, _ in one_step_at_a_time(generate))


def test_nothing_is_computed_ahead_of_the_reader() -> None:
    begun: list[int] = []

    def generate(streamer: Stopwatch) -> None:
        streamer.put(torch.tensor([[7, 7]]))  # the prompt
        for number in range(3):
            begun.append(number)
            streamer.put(torch.tensor([number]))
        streamer.end()

    steps = tokens_of(generate)
    assert begun == []
    assert next(steps) == [0]
    time.sleep(0.05)
    assert begun == [0], "the next step waits until it is asked for"
    assert list(steps) == [[1], [2]]


def test_several_tokens_of_one_step_come_together() -> None:
    def generate(streamer: Stopwatch) -> None:
        streamer.put(torch.tensor([[7]]))
        streamer.put(torch.tensor([[1, 2, 3]]))

    assert list(tokens_of(generate)) == [[1, 2, 3]]


def test_closing_it_ends_the_thread() -> None:
    ended = threading.Event()

    def generate(streamer: Stopwatch) -> None:
        try:
            streamer.put(torch.tensor([[7]]))
            while True:
                streamer.put(torch.tensor([1]))
        finally:
            ended.set()

    steps = one_step_at_a_time(generate)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert ended.is_set()


def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    def generate(streamer: Stopwatch) -> None:
        streamer.put(torch.tensor([[7]]))
        streamer.put(torch.tensor([1]))
        raise ValueError("no more")

    steps = tokens_of(generate)
    assert next(steps) == [1]
    with pytest.raises(ValueError, match="no more"):
        next(steps)


def test_the_first_step_takes_as_long_as_the_second() -> None:
    ending = Ending(
        Transcript(tiny_tokenizer().backend_tokenizer), eos_token_ids=frozenset(), max_new_tokens=7, prompt_tokens=3,
        context_length=100,
    )  # fmt: skip
    account = Account(3, ending)
    steps = ((9.0, [40, 41, 42]), (1.0, [43, 44]), (1.5, [45]), (2.0, [46]))
    prefill, *events = [event for seconds, tokens in steps for event in account.events(tokens, seconds)]
    assert prefill == PrefillEvent(3, 9.0)
    assert [event.seconds for event in events] == [0.0, 2.0, 1.5, 2.0]
    assert account.is_closed


def test_only_the_time_of_the_steps_themselves_is_taken() -> None:
    seconds: list[float] = []

    def slow(tokens: list[int], taken: float) -> None:
        seconds.append(taken)
        time.sleep(0.05)

    stopwatch = Stopwatch(slow)
    for _ in range(3):
        stopwatch.put(torch.tensor([1]))
    assert len(seconds) == 2, "the first is the prompt"
    assert max(seconds) < 0.05
