"""Selecting: against transformers' own processors, and against the distribution it must sample from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from lookahead_cli.decoding.iterate import next_iterate
from lookahead_cli.decoding.select import (
    SamplingSettings,
    TokenSelector,
    gumbel_noise,
    penalise_repetition,
    truncate,
)
from lookahead_cli.errors import ModelError

VOCAB = 50


def random_logits(seed: int, vocab: int = VOCAB) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(vocab, generator=generator) * 3


@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.1, 5),
    top_k=st.integers(0, VOCAB + 5),
    top_p=st.floats(0.01, 1),
    min_p=st.floats(0, 0.99),
)
def test_truncation_keeps_what_transformers_keeps(
    seed: int, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    logits = random_logits(seed)
    warpers: list[Any] = [TemperatureLogitsWarper(temperature)]
    warpers += [TopKLogitsWarper(top_k)] if top_k else []
    warpers += [TopPLogitsWarper(top_p)] if top_p < 1 else []
    warpers += [MinPLogitsWarper(min_p)] if min_p else []
    warped = LogitsProcessorList(warpers)(torch.zeros(1, 1, dtype=torch.long), logits[None])[0]
    ids, scores = truncate(logits / temperature, SamplingSettings(temperature, top_k=top_k, top_p=top_p, min_p=min_p))
    assert ids.tolist() == torch.isfinite(warped).nonzero().flatten().tolist()
    torch.testing.assert_close(scores, warped[ids])


@given(
    seed=st.integers(0, 10**6),
    penalty=st.floats(0.1, 10),
    before=st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=80),
)
def test_repetition_penalty_is_that_of_transformers(seed: int, penalty: float, before: list[int]) -> None:
    logits = random_logits(seed)
    expected = RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([before]), logits[None].clone())[0]
    torch.testing.assert_close(penalise_repetition(logits, before, penalty), expected)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_an_error(bad: float, temperature: float) -> None:
    logits = torch.tensor([0.0, bad, 1.0])
    with pytest.raises(ModelError, match="position 3 are not finite"):
        TokenSelector(SamplingSettings(temperature, top_k=1)).select(logits, 3, [0])


def test_temperature_0_takes_the_likeliest_and_on_a_tie_the_lowest_id() -> None:
    logits = torch.tensor([0.0, 7.0, 1.0, 7.0, 7.0])
    assert TokenSelector(SamplingSettings()).select(logits, 3, [0]) == 1


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingSettings(temperature=1.0),
        SamplingSettings(temperature=0.8, top_p=0.9),
        SamplingSettings(temperature=1.3, top_k=4),
        SamplingSettings(temperature=0.8, min_p=0.1),
        SamplingSettings(temperature=1.0, repetition_penalty=1.5),
    ],
    ids=["all", "top-p", "top-k", "min-p", "penalty"],
)
def test_frequencies_over_seeds_follow_the_distribution(sampling: SamplingSettings) -> None:
    vocab, before, draws = 8, [1, 5], 6000
    logits = random_logits(3, vocab) / 2
    warpers: list[Any] = [RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty)]
    warpers += [TemperatureLogitsWarper(sampling.temperature)]
    warpers += [TopKLogitsWarper(sampling.top_k)] if sampling.top_k else []
    warpers += [TopPLogitsWarper(sampling.top_p)] if sampling.top_p < 1 else []
    warpers += [MinPLogitsWarper(sampling.min_p)] if sampling.min_p else []
    expected = torch.softmax(LogitsProcessorList(warpers)(torch.tensor([before]), logits[None])[0].double(), -1).numpy()
    counts = np.zeros(vocab)
    for seed in range(draws):
        selector = TokenSelector(SamplingSettings(**{**vars(sampling), "seed": seed}))
        counts[selector.select(logits, len(before), before)] += 1
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], expected[possible] * draws).pvalue > 0.001


def test_frequencies_over_positions_follow_the_distribution() -> None:
    logits = random_logits(4, 8) / 2
    selector = TokenSelector(SamplingSettings(temperature=1.0, seed=7))
    counts = np.bincount([selector.select(logits, position, [0]) for position in range(6000)], minlength=8)
    assert chisquare(counts, torch.softmax(logits.double(), -1).numpy() * 6000).pvalue > 0.001


@given(seed=st.integers(0, 2**63 - 1), position=st.integers(0, 10**6), vocab=st.integers(1, 300))
def test_noise_depends_on_seed_position_and_token_alone(seed: int, position: int, vocab: int) -> None:
    noise = gumbel_noise(seed, position, vocab)
    assert np.isfinite(noise).all()
    assert (noise == gumbel_noise(seed, position, vocab + 50)[:vocab]).all()
    assert (noise != gumbel_noise(seed, position + 1, vocab)).any()


def test_noise_is_the_same_on_every_machine() -> None:
    """Recorded values: a change of generator would silently change every sampled text."""
    assert gumbel_noise(1, 2, 3).round(12).tolist() == RECORDED_NOISE


RECORDED_NOISE = [-0.159901589595, -0.029696744891, -1.193746985971]


def test_the_next_iterate_is_what_would_be_selected() -> None:
    rows = torch.stack([random_logits(seed) for seed in range(20)])
    for sampling in (SamplingSettings(), SamplingSettings(temperature=0.9, seed=5)):
        selector = TokenSelector(sampling)
        selected = [selector.select(row, 30 + index, [0]) for index, row in enumerate(rows)]
        assert next_iterate(rows, 30, sampling) == selected
