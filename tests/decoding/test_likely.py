"""The likeliest tokens of a row."""

from __future__ import annotations

import pytest
import torch

from lookahead_cli.decoding.likely import BLOCK, largest, likely_tokens


@pytest.mark.parametrize("size", [5, 64, 8 * BLOCK, 20 * BLOCK, 20 * BLOCK + 1])
@pytest.mark.parametrize("rows", [1, 7])
def test_the_largest_entries_are_those_of_topk(rows: int, size: int) -> None:
    numbers = torch.randn((rows, size), generator=torch.Generator().manual_seed(size))
    assert torch.equal(largest(numbers, 5), torch.topk(numbers, 5).indices)


def test_equal_entries_and_entries_side_by_side_are_all_found() -> None:
    numbers = torch.zeros((1, 16 * BLOCK))
    numbers[0, 70:74] = 1.0
    assert set(largest(numbers, 4)[0].tolist()) == {70, 71, 72, 73}


def test_probabilities_are_those_of_softmax() -> None:
    logits = torch.randn((3, 8 * BLOCK), generator=torch.Generator().manual_seed(1))
    likely = likely_tokens(logits, 3)
    expected = torch.softmax(logits, -1).topk(3)
    assert likely.ids == expected.indices.tolist()
    torch.testing.assert_close(torch.tensor(likely.probabilities), expected.values)
