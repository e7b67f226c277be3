"""Timing passes by their number of rows, with a runner that only counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from lookahead_cli.bench.step_times import REPEATS, ROWS, TEXT_TOKENS, measure_steps
from lookahead_cli.models.runner import nobody
from lookahead_cli.models.seats import Seats, Unlimited


class Counting:
    """A runner that does nothing but keep account of its cache."""

    vocab = 11
    tree_obstacle = None

    def __init__(self, context_length: int, rewind_obstacle: str | None = None) -> None:
        self.context_length = context_length
        self.rewind_obstacle = rewind_obstacle
        self.length = 0
        self.asked: list[tuple[int, int]] = []
        """Length of the cache and rows of every step."""

    def branching(self, nodes: int) -> bool:
        return True

    def seats(self) -> Seats:
        return Unlimited()

    def twin(self) -> Counting:
        return Counting(self.context_length, self.rewind_obstacle)

    def keeps(self, count: int) -> bool:
        return False

    def prefill(
        self,
        tokens: Sequence[int],
        take_rows: Callable[[Tensor], None] | None = None,
        *,
        kept: int = 0,
        tell: Callable[[int], None] = nobody,
    ) -> None:
        assert all(0 <= token < self.vocab for token in tokens)
        self.length = len(tokens)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        assert list(parents) == list(range(-1, len(tokens) - 1)), "a chain"
        assert self.length + 1 + len(tokens) <= self.context_length
        self.asked.append((self.length, 1 + len(tokens)))
        return torch.zeros(1 + len(tokens), self.vocab)

    def commit(self, path: Sequence[int]) -> None:
        self.length += 1 + len(path)

    def forget(self, count: int) -> None:
        assert self.rewind_obstacle is None
        self.length -= count


def test_all_widths_are_timed_by_turns_at_the_same_length() -> None:
    runner = Counting(1000)
    found = list(measure_steps(runner, 1000))
    assert len(found) == REPEATS
    assert {length for length, _ in runner.asked} == {TEXT_TOKENS - 1}
    rows = [rows for _, rows in runner.asked]
    assert rows == [*ROWS, *ROWS[::-1]] * ((REPEATS + 1) // 2), "to and fro, the first time unmeasured"
    measured = found[-1]
    assert (measured.text_tokens, measured.repeats) == (TEXT_TOKENS, REPEATS)
    assert all(len(measured.seconds[width]) == REPEATS for width in ROWS)
    assert measured.spread(8).low <= measured.spread(8).median <= measured.spread(8).high


@pytest.mark.parametrize("context_length", [2, 20, 64, 100, 319, 320])
def test_a_short_context_takes_a_shorter_text(context_length: int) -> None:
    runner = Counting(context_length)  # complains about a step that does not fit
    *_, measured = measure_steps(runner, context_length, 2)
    assert 1 <= measured.text_tokens <= TEXT_TOKENS
    assert list(measured.seconds) == [rows for rows in ROWS if rows <= context_length]


def test_where_nothing_can_be_taken_back_there_is_one_row() -> None:
    runner = Counting(1000, "a running state")
    *_, measured = measure_steps(runner, 1000, 3)
    assert list(measured.seconds) == [1]
