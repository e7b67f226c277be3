"""The thread in which transformers generates works only while somebody waits for its tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from lookahead_cli.bench import transformers_generate
from lookahead_cli.bench.transformers_generate import Handover, TransformersGenerate, one_step_at_a_time
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import PrefillEvent
from lookahead_cli.text.transcript import Transcript
from tests.tiny_models import tiny_tokenizer


def test_nothing_is_computed_ahead_of_the_reader() -> None:
    begun: list[int] = []

    def generate(streamer: Handover) -> None:
        streamer.put(torch.tensor([[7, 7]]))  # the prompt
        for number in range(3):
            begun.append(number)
            streamer.put(torch.tensor([number]))
        streamer.end()

    steps = one_step_at_a_time(generate)
    assert begun == []
    assert next(steps) == [0]
    time.sleep(0.05)
    assert begun == [0], "the next step waits until it is asked for"
    assert list(steps) == [[1], [2]]


def test_several_tokens_of_one_step_come_together() -> None:
    def generate(streamer: Handover) -> None:
        streamer.put(torch.tensor([[7]]))
        streamer.put(torch.tensor([[1, 2, 3]]))

    assert list(one_step_at_a_time(generate)) == [[1, 2, 3]]


def test_closing_it_ends_the_thread() -> None:
    ended = threading.Event()

    def generate(streamer: Handover) -> None:
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
    def generate(streamer: Handover) -> None:
        streamer.put(torch.tensor([[7]]))
        streamer.put(torch.tensor([1]))
        raise ValueError("no more")

    steps = one_step_at_a_time(generate)
    assert next(steps) == [1]
    with pytest.raises(ValueError, match="no more"):
        next(steps)


def test_the_first_step_takes_as_long_as_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def steps(_: Any) -> Iterator[list[int]]:
        nonlocal now
        for seconds, tokens in ((9.0, [40, 41, 42]), (1.0, [43, 44]), (1.5, [45]), (2.0, [46])):
            now += seconds
            yield tokens

    monkeypatch.setattr(transformers_generate, "one_step_at_a_time", steps)
    monkeypatch.setattr(transformers_generate, "perf_counter", lambda: now)
    ending = Ending(
        Transcript(tiny_tokenizer().backend_tokenizer), eos_token_ids=frozenset(), max_new_tokens=7, prompt_tokens=3,
        context_length=100,
    )  # fmt: skip
    made: Any = TransformersGenerate(session=None, model=None, more={}, notices=[])  # type: ignore[arg-type]
    prefill, *events = made._events([1, 2, 3], ending)
    assert prefill == PrefillEvent(3, 9.0)
    assert [event.seconds for event in events] == [0.0, 2.0, 1.5, 2.0]
    assert events[-1].finish_reason == "length"
