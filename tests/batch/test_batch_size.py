"""How many records at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lookahead_cli.batch.batch_size import FIRST_AUTO_SIZE, MOST_AUTO_SIZE, BatchSize, best_size
from lookahead_cli.decoding.shared_budget import WIDTHS, SharedBudget
from lookahead_cli.errors import PromptError


def budget(first: float, each: float) -> SharedBudget:
    """Passes take `first` seconds and `each` for a row."""
    return SharedBudget({str(width): first + each * width for width in WIDTHS})


def runner(bytes_per_token: int = 10) -> Any:
    return SimpleNamespace(bytes_for=lambda tokens: bytes_per_token * tokens, most_sequences=None)


def test_rows_that_cost_nothing_make_a_large_batch_and_dear_ones_a_small_one() -> None:
    assert best_size(SharedBudget()) == FIRST_AUTO_SIZE, "nothing is known yet"
    assert best_size(budget(1.0, 0.0)) > 0.8 * MOST_AUTO_SIZE
    assert best_size(budget(0.0, 1.0)) == 1
    assert 4 < best_size(budget(1.0, 0.5)) < MOST_AUTO_SIZE / 2


def test_a_batch_that_has_long_been_full_stays_large() -> None:
    """Times of narrow passes have been forgotten by then."""
    assert best_size(SharedBudget({"48": 1.0})) > MOST_AUTO_SIZE / 2


def test_a_number_is_taken_at_its_word() -> None:
    size = BatchSize(3, 1e9, runner())
    size.follow(budget(1.0, 0.0))
    assert size.most == 3


def test_memory_is_reserved_and_given_back() -> None:
    size = BatchSize("auto", 100, runner())
    assert size.reserve(6)
    assert not size.reserve(5)
    size.free(6)
    assert size.reserve(5)
    size.check(10)
    with pytest.raises(PromptError, match="its KV cache for 11 tokens"):
        size.check(11)
