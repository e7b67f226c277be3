"""The first promise on a real model: the tokens of transformers, whatever the strategy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.runner import Runner
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


def say(packaged: LoadedModel, runner: Runner, prompt: list[int], count: int, **settings: Any) -> list[int]:
    """At most `count` tokens after `prompt`."""
    end, most = packaged.eos_token_ids, packaged.context_length
    return run(runner, prompt, max_new_tokens=count, eos=end, context_length=most, **settings).tokens


@pytest.mark.parametrize("settings", [*HANDFUL[:2], LOOKAHEAD[-1]], ids=name)
def test_two_prompts(
    packaged: LoadedModel, model: Any, runners: list[Runner], own_prompts: list[list[int]], settings: Any
) -> None:
    for prompt in own_prompts:
        expected = greedy_tokens(model, prompt, 24)
        for runner in runners:
            assert say(packaged, runner, prompt, 24, **settings) == expected, type(runner)


# By prompt, not by settings: what transformers says to a prompt is then worked out once, whichever process runs it.


@pytest.mark.slow
@pytest.mark.parametrize("number", range(13))
def test_one_prompt_of_each_category_with_every_setting(
    packaged: LoadedModel, model: Any, runners: list[Runner], spec_bench: Prompts, number: int
) -> None:
    prompt = spec_bench(13)[number]
    expected = greedy_tokens(model, prompt, 48)
    for place, settings in enumerate([{"strategy": "greedy"}, *JACOBI[number % 2 :: 2], *LOOKAHEAD]):
        # The transformers runner takes twice as long: over all prompts it meets every setting, on each every second.
        for runner in runners if (place + number) % 2 else runners[1:]:
            assert say(packaged, runner, prompt, 48, **settings) == expected, (settings, type(runner))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(8))
def test_40_prompts_with_a_handful_of_settings(
    packaged: LoadedModel, model: Any, runners: list[Runner], spec_bench: Prompts, group: int
) -> None:
    for prompt in spec_bench(40)[group::8]:
        expected = greedy_tokens(model, prompt, 128)
        for settings in HANDFUL:
            for runner in runners if settings == {"strategy": "lookahead", "k": 16} else runners[1:]:
                assert say(packaged, runner, prompt, 128, **settings) == expected, (settings, type(runner))


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["auto", "full"])
def test_half_precision_gives_the_tokens_of_its_own_greedy_decoding(
    packaged: LoadedModel, spec_bench: Prompts, weights: str
) -> None:
    half = load(packaged.folder, Wish(dtype="bfloat16", device="cpu", runner="lean", weights=weights))
    if half.dependent_rows is not None:
        pytest.skip(half.dependent_rows)
    for prompt in spec_bench(13):
        expected = say(half, half.runner, prompt, 96, strategy="greedy")
        for settings in (*HANDFUL[1:], {"strategy": "lookahead", "k": 64}, {"strategy": "prompt-lookup", "k": 10}):
            assert say(half, half.runner, prompt, 96, **settings) == expected, settings


@pytest.mark.slow
def test_same_seed_same_tokens_for_every_strategy(
    packaged: LoadedModel, runners: list[Runner], own_prompts: list[list[int]]
) -> None:
    for seed, runner in product((0, 1, 2), runners):
        sampling: dict[str, Any] = {"temperature": 0.7, "top_p": 0.9, "seed": seed}
        for prompt in own_prompts:
            expected = say(packaged, runner, prompt, 48, strategy="greedy", **sampling)
            for settings in [*JACOBI[::8], *LOOKAHEAD[2:5]]:
                said = say(packaged, runner, prompt, 48, **sampling, **settings)
                assert said == expected, (seed, settings, type(runner))
