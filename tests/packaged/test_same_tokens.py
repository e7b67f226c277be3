"""The first promise on a real model: the tokens of transformers, whatever the strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lookahead_cli.models.loading import LoadedModel
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.decoding.decoded import run
from tests.oracle import greedy_tokens

Prompts = Callable[[int], list[list[int]]]

JACOBI: list[dict[str, Any]] = [
    {"strategy": "jacobi", "init": init, "refill": refill, "k": k}
    for init in ("random", "copy-last", "model")
    for refill in ("carry", "reinit")
    for k in (1, 4, 16, "auto")
]
LOOKAHEAD: list[dict[str, Any]] = [
    *({"strategy": "lookahead", "k": k} for k in (1, 7, 16, 64, "auto")),
    {"strategy": "lookahead", "k": 8, "window": 4, "ngram_length": 4},
    {"strategy": "prompt-lookup", "k": 10},
]
HANDFUL: list[dict[str, Any]] = [
    {"strategy": "greedy"},
    {"strategy": "jacobi"},
    {"strategy": "lookahead", "k": 16},
    {"strategy": "lookahead", "k": "auto"},
]


def name(settings: dict[str, Any]) -> str:
    return "-".join(str(value) for value in settings.values())


@pytest.mark.parametrize("settings", [*HANDFUL, JACOBI[2], JACOBI[20], LOOKAHEAD[-2], LOOKAHEAD[-1]], ids=name)
def test_two_prompts(
    packaged: LoadedModel, runner: TransformersRunner, own_prompts: list[list[int]], settings: Any
) -> None:
    for prompt in own_prompts:
        decoded = run(
            runner,
            prompt,
            max_new_tokens=24,
            eos=packaged.eos_token_ids,
            context_length=packaged.context_length,
            **settings,
        )
        assert decoded.tokens == greedy_tokens(packaged.model, prompt, 24)


# By prompt, not by settings: what transformers says to a prompt is then worked out once, whichever process runs it.


@pytest.mark.slow
@pytest.mark.parametrize("number", range(13))
def test_one_prompt_of_each_category_with_every_setting(
    packaged: LoadedModel, runner: TransformersRunner, spec_bench: Prompts, number: int
) -> None:
    prompt = spec_bench(13)[number]
    expected = greedy_tokens(packaged.model, prompt, 48)
    for settings in [{"strategy": "greedy"}, *JACOBI[number % 2 :: 2], *LOOKAHEAD]:
        decoded = run(
            runner,
            prompt,
            max_new_tokens=48,
            eos=packaged.eos_token_ids,
            context_length=packaged.context_length,
            **settings,
        )
        assert decoded.tokens == expected, settings


@pytest.mark.slow
@pytest.mark.parametrize("group", range(8))
def test_40_prompts_with_a_handful_of_settings(
    packaged: LoadedModel, runner: TransformersRunner, spec_bench: Prompts, group: int
) -> None:
    for prompt in spec_bench(40)[group::8]:
        expected = greedy_tokens(packaged.model, prompt, 128)
        for settings in HANDFUL:
            decoded = run(
                runner,
                prompt,
                max_new_tokens=128,
                eos=packaged.eos_token_ids,
                context_length=packaged.context_length,
                **settings,
            )
            assert decoded.tokens == expected, settings


@pytest.mark.slow
def test_same_seed_same_tokens_for_every_strategy(
    packaged: LoadedModel, runner: TransformersRunner, own_prompts: list[list[int]]
) -> None:
    for seed in (0, 1, 2):
        sampling: dict[str, Any] = {"temperature": 0.7, "top_p": 0.9, "seed": seed, "max_new_tokens": 48}
        for prompt in own_prompts:
            expected = run(
                runner,
                prompt,
                eos=packaged.eos_token_ids,
                context_length=packaged.context_length,
                strategy="greedy",
                **sampling,
            ).tokens
            for settings in [*JACOBI[::8], *LOOKAHEAD[2:5]]:
                decoded = run(
                    runner,
                    prompt,
                    eos=packaged.eos_token_ids,
                    context_length=packaged.context_length,
                    **sampling,
                    **settings,
                )
                assert decoded.tokens == expected, (seed, settings)
