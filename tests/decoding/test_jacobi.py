"""The Jacobi window: what fresh slots hold, what is carried on, how the window grows."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.jacobi import JacobiWindow
from lookahead_cli.decoding.select import SamplingSettings, gumbel_noise
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.decoding.window_init import WINDOW_INITS, FreshSlots
from lookahead_cli.decoding.window_size import FIRST_AUTO_K, MAX_AUTO_K, WindowSize

VOCAB = 12


def slots(logits: torch.Tensor | None = None, temperature: float = 0.0, seed: int = 0) -> FreshSlots:
    return FreshSlots([3, 8], logits, VOCAB, temperature, torch.Generator().manual_seed(seed))


def test_random_is_uniform_over_the_vocabulary_and_seeded() -> None:
    tokens = WINDOW_INITS["random"](slots(), 6000)
    assert chisquare(torch.bincount(torch.tensor(tokens), minlength=VOCAB).numpy()).pvalue > 0.001
    assert tokens == WINDOW_INITS["random"](slots(), 6000) != WINDOW_INITS["random"](slots(seed=1), 6000)


def test_copy_last_repeats_the_token_in_front() -> None:
    assert WINDOW_INITS["copy-last"](slots(), 3) == [8, 8, 8]


@pytest.mark.parametrize("temperature", [0.0, 0.5, 2.0])
def test_model_samples_independently_from_the_models_distribution(temperature: float) -> None:
    logits = torch.randn(VOCAB, generator=torch.Generator().manual_seed(5))
    tokens = torch.tensor(WINDOW_INITS["model"](slots(logits, temperature), 6000))
    expected = torch.softmax(logits.double() / (temperature or 1.0), -1).numpy() * 6000
    likely = expected >= 5
    counts = torch.bincount(tokens, minlength=VOCAB).double().numpy()
    assert chisquare(counts[likely], expected[likely] * counts[likely].sum() / expected[likely].sum()).pvalue > 0.001
    pairs = torch.bincount(tokens[0::2] * VOCAB + tokens[1::2], minlength=VOCAB**2)
    assert (pairs > 0).sum() > VOCAB, "neighbours are not copies of each other"


def test_model_copies_the_last_token_before_there_is_a_distribution() -> None:
    assert WINDOW_INITS["model"](slots(None), 2) == [8, 8]


def test_model_survives_logits_that_are_no_numbers() -> None:
    assert WINDOW_INITS["model"](slots(torch.full((VOCAB,), float("nan"))), 2) == [8, 8]


def drafter(refill: str = "carry", k: int | str = 4, sampling: SamplingSettings | None = None) -> JacobiWindow:
    made = JacobiWindow(
        WindowSize.of(k), WINDOW_INITS["copy-last"], "reinit" if refill == "reinit" else "carry",
        sampling or SamplingSettings(), VOCAB,
    )  # fmt: skip
    made.begin([1, 2], None)
    return made


def room(depth: int) -> Room:
    return Room(depth, branching=lambda nodes: False)


def verified(draft: Draft, logits: torch.Tensor, accepted: int) -> VerifiedStep:
    """A step whose first emitted token has position 2."""
    return VerifiedStep(2, draft, logits, tuple(range(accepted)), committed=[], seconds=0.1)


def rows(*tokens: int) -> torch.Tensor:
    """Logits (n, VOCAB) that choose these tokens."""
    return torch.nn.functional.one_hot(torch.tensor(tokens), VOCAB).float() * 50


def test_outputs_behind_the_wrong_guess_move_one_place_and_the_end_is_filled() -> None:
    window = drafter()
    draft = window.draft([1, 2], room(10))
    assert draft.tokens == (2, 2, 2, 2)
    # Row 0 agrees with guess 0, row 1 does not with guess 1: one accepted, token 9 is the bonus.
    window.observe(verified(draft, rows(2, 9, 5, 6, 7), accepted=1))
    assert window.draft([1, 2, 2, 9], room(10)).tokens == (5, 6, 7, 7)


def test_reinit_throws_the_outputs_away() -> None:
    window = drafter("reinit")
    draft = window.draft([1, 2], room(10))
    window.observe(verified(draft, rows(2, 9, 5, 6, 7), accepted=1))
    assert window.draft([1, 2, 2, 9], room(10)).tokens == (9, 9, 9, 9)


def test_a_window_that_is_accepted_whole_starts_afresh() -> None:
    window = drafter()
    draft = window.draft([1, 2], room(10))
    window.observe(verified(draft, rows(2, 2, 2, 2, 7), accepted=4))
    assert window.draft([1, 2, 2, 2, 2, 2, 7], room(10)).tokens == (7, 7, 7, 7)


def test_a_limit_shortens_the_draft() -> None:
    window = drafter()
    assert window.draft([1, 2], room(2)).tokens == (2, 2)
    assert window.draft([1, 2], room(0)).tokens == ()


def test_under_temperature_the_iterate_foresees_the_noise_of_its_position() -> None:
    sampling = SamplingSettings(temperature=1.0, seed=4)
    window = drafter(sampling=sampling)
    draft = window.draft([1, 2], room(10))
    flat = torch.zeros(5, VOCAB)
    window.observe(verified(draft, flat, accepted=1))
    expected = [int(gumbel_noise(4, position, VOCAB).argmax()) for position in (4, 5, 6)]
    assert window.draft([1, 2, 2, 9], room(10)).tokens[:3] == tuple(expected)


def test_a_fixed_window_stays_and_auto_follows_what_is_accepted() -> None:
    fixed = WindowSize.of(6)
    fixed.update(drafted=6, accepted=6)
    assert fixed.k == 6
    auto = WindowSize.of("auto")
    assert auto.k == FIRST_AUTO_K
    for _ in range(10):
        auto.update(drafted=auto.k, accepted=auto.k)
    assert auto.k == MAX_AUTO_K
    auto.update(drafted=auto.k, accepted=auto.k // 2)
    assert auto.k == MAX_AUTO_K, "half of them is good enough to stay"
    for _ in range(MAX_AUTO_K + 5):
        auto.update(drafted=auto.k, accepted=0)
    assert auto.k == 1
    auto.update(drafted=0, accepted=0)
    assert auto.k == 1, "nothing drafted, nothing learnt"
