"""Weights of 4 bits: found where they are, run by their kernel, kept for the next start."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lookahead_cli.models.lean import fourbit
from lookahead_cli.models.lean.fourbit import GROUP, OUTPUT_BLOCK, FourBitWeights, find_levels

needs_kernel = pytest.mark.skipif(
    not fourbit.can_run(torch.bfloat16, torch.device("cpu")), reason="this processor has no kernel for 4 bits"
)


def quantised(outputs: int = OUTPUT_BLOCK, inputs: int = 4 * GROUP, most: int = 15, seed: int = 0) -> Tensor:
    """Random weights (outputs, inputs) as a GGUF file of the type Q4_1 holds them: level * step + lowest per group."""
    generator = torch.Generator().manual_seed(seed)
    levels = torch.randint(0, most + 1, (outputs * inputs // GROUP, GROUP), generator=generator)
    # Not arbitrarily small beside the lowest weight: float32 does not tell such levels apart.
    steps = 0.001 + torch.rand((len(levels), 1), generator=generator).half().float() * 0.02
    lowest = -torch.rand((len(levels), 1), generator=generator).half().float() * 0.2
    return (levels * steps + lowest).view(outputs, inputs)


@needs_kernel
@given(most=st.integers(1, 15), seed=st.integers(0, 1000))
def test_products_are_those_of_the_stored_weights(most: int, seed: int) -> None:
    weight = quantised(most=most, seed=seed)
    found = find_levels(weight)
    assert found is not None
    rows = torch.randn((5, weight.shape[1]), generator=torch.Generator().manual_seed(seed)).bfloat16()
    expected = rows.float() @ weight.t()
    torch.testing.assert_close(found(rows).float(), expected, atol=0.02 * float(expected.abs().max()), rtol=0.0)


@needs_kernel
def test_a_group_of_equal_weights_has_a_level_too() -> None:
    weight = quantised()
    weight[3, :GROUP] = 0.125
    weight[4, :GROUP] = 0.0
    found = find_levels(weight)
    assert found is not None
    identity = torch.eye(weight.shape[1], dtype=torch.bfloat16)
    assert torch.equal(found(identity)[:GROUP, 3].float(), torch.full((GROUP,), 0.125))


@pytest.mark.parametrize(
    "weight",
    [
        torch.randn((OUTPUT_BLOCK, 2 * GROUP), generator=torch.Generator().manual_seed(1)),
        quantised()[:-1],
        quantised()[:, :-1],
        quantised() + 1e-3 * torch.randn((OUTPUT_BLOCK, 4 * GROUP), generator=torch.Generator().manual_seed(2)),
    ],
    ids=["more bits", "outputs that do not fit", "inputs that do not fit", "nearly levels"],
)
def test_other_weights_are_left_alone(weight: Tensor) -> None:
    assert find_levels(weight) is None


@needs_kernel
def test_what_was_found_is_kept_and_not_searched_for_again(tmp_path: Path) -> None:
    weight = quantised()
    first = FourBitWeights(tmp_path)
    found = first.find("a", lambda: weight)
    assert first.find("b", lambda: torch.randn(weight.shape)) is None
    first.keep()
    again = FourBitWeights(tmp_path)

    def unread() -> Tensor:
        raise AssertionError("nothing is to be read")

    kept = again.find("a", unread)
    assert kept is not None
    assert found is not None
    assert torch.equal(kept.packed, found.packed)
    assert torch.equal(kept.steps, found.steps)
    assert again.find("b", unread) is None


@needs_kernel
def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    first = FourBitWeights(tmp_path)
    first.find("a", quantised)
    first.keep()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])
    again = FourBitWeights(tmp_path)
    assert again.find("a", quantised) is not None
    again.keep()
    assert FourBitWeights(tmp_path).kept
