"""The lookahead strategy on tiny models: the tokens of transformers, whatever drafts and however large."""

from __future__ import annotations

from typing import Any

import pytest

from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.profile import DecodingSettings
from tests.decoding.decoded import made, run
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, tiny_model

COUNT = 40
PROMPTS = [[5, 6, 7], [11], [3, 90, 14, 15, 92, 65, 35, 8, 9, 79, 32, 38, 46, 26]]
EVERY_WAY: list[dict[str, Any]] = [
    *({"k": k} for k in (1, 7, 16, 64, "auto")),
    *({"k": 16, "drafters": [name]} for name in DRAFTERS),
    {"k": 8, "window": 5, "ngram_length": 4},
    {"k": "auto", "window": 3, "ngram_length": 3, "init": "random"},
    {"k": 4, "window": 1, "ngram_length": 2, "init": "model"},
    {"strategy": "prompt-lookup", "k": 8},
]


@pytest.fixture(scope="module", params=REWINDABLE)
def model(request: pytest.FixtureRequest) -> Any:
    return tiny_model(REWINDABLE[request.param]())


def strategy(runner: TransformersRunner, **decoding: Any) -> Lookahead:
    """A strategy that can be given more than one prompt."""
    settings = DecodingSettings(repetition_penalty=1.0, **decoding)
    strategy = made(settings, runner.vocab)
    assert isinstance(strategy, Lookahead)
    return strategy


def test_lookahead_gives_the_tokens_of_transformers(model: Any) -> None:
    runner = TransformersRunner(model)
    for prompt in PROMPTS:
        expected = greedy_tokens(model, prompt, COUNT)
        for settings in EVERY_WAY:
            decoded = run(runner, prompt, max_new_tokens=COUNT, **{"strategy": "lookahead", **settings})
            assert decoded.tokens == expected, settings


def test_what_was_learned_from_other_prompts_changes_no_token(model: Any) -> None:
    runner = TransformersRunner(model)
    drafts = strategy(runner, k=16)
    steps = []
    for prompt in [*PROMPTS, *PROMPTS]:
        decoded = run(runner, prompt, drafts=drafts, max_new_tokens=COUNT)
        assert decoded.tokens == greedy_tokens(model, prompt, COUNT)
        steps.append(decoded.statistics.steps)
    assert sum(steps[3:]) < sum(steps[:3]), "the second time is guessed better"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_same_seed_same_tokens_at_any_temperature(seed: int) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["llama"]()))
    for sampling in ({"temperature": 0.7}, {"temperature": 1.5, "top_p": 0.9}, {"temperature": 1.0, "top_k": 5}):
        common: dict[str, Any] = {"max_new_tokens": COUNT, "seed": seed, **sampling}
        expected = run(runner, PROMPTS[2], strategy="greedy", **common).tokens
        for settings in EVERY_WAY:
            assert run(runner, PROMPTS[2], **{"strategy": "lookahead", **settings, **common}).tokens == expected


def test_knowing_the_noise_gives_better_guesses() -> None:
    """Under temperature the noise at a position is known before its logits are: guesses that allow for it are right
    more often than guesses that do not."""
    runner = TransformersRunner(tiny_model(REWINDABLE["llama"]()))
    steps = {True: 0, False: 0}
    for foreseen in steps:
        drafts = strategy(runner, k=8, temperature=1.0)
        if not foreseen:
            drafts.foresight = lambda probabilities, depth: probabilities
        for _ in range(3):
            decoded = run(runner, PROMPTS[0], drafts=drafts, max_new_tokens=200, temperature=1.0)
            steps[foreseen] += decoded.statistics.steps
    assert steps[True] < steps[False]


def test_a_budget_is_never_exceeded() -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["llama"]()))
    for k in (1, 7, 16):
        decoded = run(runner, PROMPTS[2], strategy="lookahead", k=k, max_new_tokens=COUNT)
        assert max(step.drafted for step in decoded.steps) <= k
    windowed = run(runner, PROMPTS[2], strategy="lookahead", k=4, window=3, ngram_length=4, max_new_tokens=COUNT)
    assert max(step.drafted for step in windowed.steps) <= 4 + 3 * 3
    assert {name for step in windowed.steps for name in step.drafted_by} >= {"window"}


def test_a_full_sliding_window_gets_chains() -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["mistral"]()))
    assert runner.tree_obstacle is None, "it takes trees while the window is not full"
    asked = []
    original = runner.step

    def step(pending: int, tokens: Any, parents: Any) -> Any:
        asked.append(list(parents) == list(range(-1, len(parents) - 1)))
        return original(pending, tokens, parents)

    runner.step = step  # type: ignore[method-assign]
    decoded = run(runner, PROMPTS[2], strategy="lookahead", k=8, max_new_tokens=COUNT)
    assert all(asked)
    assert decoded.statistics.accepted > 0


def test_counts_of_drafters_add_up() -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["llama"]()))
    decoded = run(runner, PROMPTS[2], strategy="lookahead", k=16, max_new_tokens=COUNT)
    statistics = decoded.statistics
    assert statistics.drafted == sum(step.drafted for step in decoded.steps)
    assert statistics.accepted == sum(step.accepted for step in decoded.steps)
    assert statistics.accepted + statistics.steps == COUNT
    assert set(statistics.drafters) <= set(DRAFTERS)
