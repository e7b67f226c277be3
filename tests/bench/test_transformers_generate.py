"""The thread in which transformers generates works only while somebody waits for its tokens."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from lookahead_cli.bench.transformers_generate import Handover, one_step_at_a_time


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
