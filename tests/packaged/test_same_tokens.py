"""The first promise on a real model: the tokens of transformers, whatever the strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lookahead_cli.models.loading import LoadedModel
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.decoding.decoded import run

Oracle = Callable[[list[int], int], list[int]]
Prompts = Callable[[int], list[list[int]]]

JACOBI: list[dict[str, Any]] = [
    {"strategy": "jacobi", "init": init, "refill": refill, "k": k}
    for init in ("random", "copy-last", "model")
    for refill in ("carry", "reinit")
    for k in (1, 4, 16, "auto")
]
HANDFUL: list[dict[str, Any]] = [
    {"strategy": "greedy"},
    {"strategy": "jacobi"},
    {"strategy": "jacobi", "init": "model", "k": 4, "refill": "reinit"},
]


def name(settings: dict[str, Any]) -> str:
    return "-".join(str(value) for value in settings.values())


@pytest.mark.parametrize("settings", [*HANDFUL[:2], JACOBI[2], JACOBI[20]], ids=name)
def test_two_prompts(
    packaged: LoadedModel, runner: TransformersRunner, own_prompts: list[list[int]], oracle: Oracle, settings: Any
) -> None:
    for prompt in own_prompts:
        decoded = run(runner, prompt, max_new_tokens=24, eos=packaged.eos_token_ids, **settings)
        assert decoded.tokens == oracle(prompt, 24)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"strategy": "greedy"}, *JACOBI], ids=name)
def test_13_prompts_one_of_each_category(
    packaged: LoadedModel, runner: TransformersRunner, spec_bench: Prompts, oracle: Oracle, settings: Any
) -> None:
    for prompt in spec_bench(13):
        decoded = run(runner, prompt, max_new_tokens=48, eos=packaged.eos_token_ids, **settings)
        assert decoded.tokens == oracle(prompt, 48)


@pytest.mark.slow
@pytest.mark.parametrize("settings", HANDFUL, ids=name)
def test_40_prompts_of_all_categories(
    packaged: LoadedModel, runner: TransformersRunner, spec_bench: Prompts, oracle: Oracle, settings: Any
) -> None:
    for prompt in spec_bench(40):
        decoded = run(runner, prompt, max_new_tokens=128, eos=packaged.eos_token_ids, **settings)
        assert decoded.tokens == oracle(prompt, 128)


@pytest.mark.slow
def test_same_seed_same_tokens_for_every_strategy(
    packaged: LoadedModel, runner: TransformersRunner, own_prompts: list[list[int]]
) -> None:
    for seed in (0, 1, 2):
        sampling: dict[str, Any] = {"temperature": 0.8, "top_p": 0.9, "seed": seed, "max_new_tokens": 48}
        for prompt in own_prompts:
            expected = run(runner, prompt, eos=packaged.eos_token_ids, strategy="greedy", **sampling).tokens
            for settings in JACOBI[::5]:
                decoded = run(runner, prompt, eos=packaged.eos_token_ids, **sampling, **settings)
                assert decoded.tokens == expected, (seed, settings)
