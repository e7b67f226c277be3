"""The first promise: every strategy gives the tokens of transformers' own greedy search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from lookahead_cli.models.lean.exactness import find_dependent_rows
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.decoding.decoded import run
from tests.decoding.known_future import KnownFutureDrafter
from tests.lean_models import CPU, FAMILY, lean_runner, save_model
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, SHORT_WINDOW, tiny_model

COUNT = 40
PROMPTS = [[5, 6, 7], [11], [3, 90, 14, 15, 92, 65, 35, 8, 9, 79, 32, 38, 46, 26]]
JACOBI: list[dict[str, Any]] = [
    {"strategy": "jacobi", "init": init, "refill": refill, "k": k}
    for init in ("random", "copy-last", "model")
    for refill in ("carry", "reinit")
    for k in (1, 4, 16, "auto")
]

GUESSING: list[dict[str, Any]] = [
    *({"strategy": "lookahead", "k": k} for k in (4, 16, "auto")),
    {"strategy": "lookahead", "k": 8, "window": 4, "ngram_length": 4},
    {"strategy": "prompt-lookup", "k": 10},
    {"strategy": "jacobi", "k": 4},
    {"strategy": "jacobi", "k": "auto", "init": "model"},
]


@pytest.fixture(scope="module", params=REWINDABLE)
def model(request: pytest.FixtureRequest) -> Any:
    return tiny_model(REWINDABLE[request.param]())


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: f"prompt-of-{len(prompt)}")
def test_greedy_gives_the_tokens_of_transformers(model: Any, prompt: list[int]) -> None:
    decoded = run(TransformersRunner(model), prompt, strategy="greedy", max_new_tokens=COUNT)
    assert decoded.tokens == greedy_tokens(model, prompt, COUNT)
    assert decoded.statistics.tokens_per_step == 1.0


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: f"prompt-of-{len(prompt)}")
def test_jacobi_gives_the_tokens_of_transformers(model: Any, prompt: list[int]) -> None:
    runner = TransformersRunner(model)
    expected = greedy_tokens(model, prompt, COUNT)
    for settings in JACOBI:
        decoded = run(runner, prompt, max_new_tokens=COUNT, **settings)
        assert decoded.tokens == expected, settings


@pytest.mark.parametrize("wrong", [frozenset(), frozenset({5, 11, 12}), frozenset(range(COUNT))], ids=str)
def test_accepted_and_rejected_runs_of_any_length_change_nothing(model: Any, wrong: frozenset[int]) -> None:
    prompt = PROMPTS[0]
    expected = greedy_tokens(model, prompt, COUNT)
    for k in (1, 5, 3 * SHORT_WINDOW):
        drafter = KnownFutureDrafter(expected, k, wrong)
        decoded = run(TransformersRunner(model), prompt, drafts=drafter, max_new_tokens=COUNT)
        assert decoded.tokens == expected
        if not wrong:
            assert decoded.statistics.steps == -(-COUNT // (k + 1))
            assert decoded.statistics.accepted == COUNT - decoded.statistics.steps
        if len(wrong) == COUNT:
            assert decoded.statistics.steps == COUNT
            assert decoded.statistics.accepted == 0


def test_the_cache_holds_what_a_fresh_pass_over_the_committed_tokens_gives(model: Any) -> None:
    prompt = PROMPTS[0]
    expected = greedy_tokens(model, prompt, COUNT)
    runner = TransformersRunner(model)
    drafter = KnownFutureDrafter(expected, k=6, wrong=frozenset({4, 9, 10, 20}))
    run(runner, prompt, drafts=drafter, max_new_tokens=COUNT)
    fresh = TransformersRunner(model)
    fresh.prefill([*prompt, *expected][: runner.cache.get_seq_length()])
    for layer, fresh_layer in zip(runner.cache.layers, fresh.cache.layers, strict=True):
        torch.testing.assert_close(layer.keys, fresh_layer.keys, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(layer.values, fresh_layer.values, rtol=1e-4, atol=1e-4)


def test_prompts_longer_than_one_chunk_of_prefill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookahead_cli.models.transformers_runner.PREFILL_CHUNK", 5)
    for config in (REWINDABLE["llama"](), REWINDABLE["mistral"]()):
        model = tiny_model(config)
        prompt = PROMPTS[2]
        decoded = run(TransformersRunner(model), prompt, strategy="jacobi", k=4, max_new_tokens=COUNT)
        assert decoded.tokens == greedy_tokens(model, prompt, COUNT)


@pytest.mark.parametrize("name", RUNNING_STATE)
def test_a_model_with_a_running_state_says_so_and_still_decodes_greedily(name: str) -> None:
    model = tiny_model(RUNNING_STATE[name]())
    runner = TransformersRunner(model)
    assert runner.rewind_obstacle is not None
    assert "layer 0 (LinearAttention" in runner.rewind_obstacle
    # Longer than a chunk too: a running state cannot be carried on by several tokens at once.
    for prompt in (PROMPTS[0], PROMPTS[2] * 50):
        decoded = run(runner, prompt, strategy="greedy", max_new_tokens=COUNT)
        assert decoded.tokens == greedy_tokens(model, prompt, COUNT)
    with pytest.raises(RuntimeError, match="drafts must be empty"):
        run(runner, PROMPTS[0], strategy="jacobi", max_new_tokens=COUNT)


@pytest.mark.parametrize("sampling", [{"top_p": 0.9}, {}, {"top_k": 5}, {"min_p": 0.2}, {"repetition_penalty": 1.3}])
def test_same_seed_same_tokens_for_every_strategy(sampling: dict[str, Any]) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["llama"]()))
    for seed in (0, 1, 2):
        common = {"temperature": 0.8, "seed": seed, "max_new_tokens": COUNT, **sampling}
        expected = run(runner, PROMPTS[0], strategy="greedy", **common).tokens
        assert len(set(expected)) > 5
        for settings in JACOBI:
            assert run(runner, PROMPTS[0], **common, **settings).tokens == expected, settings
    assert run(runner, PROMPTS[0], strategy="greedy", **{**common, "seed": 99}).tokens != expected


def test_repetition_penalty_at_temperature_0_gives_the_tokens_of_transformers() -> None:
    model = tiny_model(REWINDABLE["llama"]())
    ids = torch.tensor([PROMPTS[0]])
    expected = model.generate(ids, do_sample=False, max_new_tokens=COUNT, repetition_penalty=1.5, pad_token_id=0)
    for strategy in ("greedy", "jacobi"):
        decoded = run(
            TransformersRunner(model), PROMPTS[0], strategy=strategy, repetition_penalty=1.5, max_new_tokens=COUNT
        )
        assert decoded.tokens == expected[0, len(PROMPTS[0]) :].tolist()


def test_jacobi_guesses_of_a_model_that_ignores_its_input_are_all_accepted() -> None:
    """Positions alone decide: one pass over the window already gives the fixed point, as the algorithm says."""
    config = REWINDABLE["gpt2"]()
    model = tiny_model(config)
    with torch.no_grad():
        model.transformer.wte.weight.zero_()
        for block in model.transformer.h:
            for part in (block.attn.c_proj, block.mlp.c_proj):
                part.weight.zero_()
    decoded = run(TransformersRunner(model), [5, 6], strategy="jacobi", k=4, init="random", max_new_tokens=COUNT)
    assert decoded.tokens == greedy_tokens(model, [5, 6], COUNT)
    # Carried guesses are right; the slots refilled with random tokens are not, and wait one step.
    assert decoded.statistics.tokens_per_step > 2


@pytest.mark.parametrize("name", ["llama", "llama-3", "mistral-window", "qwen2-window", "qwen3"])
def test_the_lean_runner_gives_the_tokens_of_transformers(name: str, tmp_path: Path) -> None:
    model = save_model(tmp_path, FAMILY[name]())
    runner = lean_runner(tmp_path)
    for prompt in PROMPTS:
        expected = greedy_tokens(model, prompt, COUNT)
        for settings in [{"strategy": "greedy"}, *GUESSING]:
            assert run(runner, prompt, max_new_tokens=COUNT, **settings).tokens == expected, settings


@pytest.mark.parametrize("name", ["llama-real-heads", "mistral-window", "qwen3"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_every_strategy_gives_the_lean_runners_own_tokens(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    """In half precision too, in which near ties are many; over the end of a page, where not every node fits."""
    save_model(tmp_path, FAMILY[name](max_position_embeddings=1024))
    runner = lean_runner(tmp_path, dtype)
    if (reason := find_dependent_rows(runner.architecture, dtype, CPU)) is not None:
        pytest.skip(f"not on this machine: {reason}")
    before_the_end_of_a_page = (PROMPTS[2] * 20)[: runner.pages.positions - 20]
    for prompt in (PROMPTS[0], PROMPTS[2], before_the_end_of_a_page):
        expected = run(runner, prompt, strategy="greedy", max_new_tokens=COUNT).tokens
        for settings in GUESSING:
            assert run(runner, prompt, max_new_tokens=COUNT, **settings).tokens == expected, settings


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_accepted_and_rejected_runs_change_nothing_in_the_lean_runner(dtype: torch.dtype, tmp_path: Path) -> None:
    save_model(tmp_path, FAMILY["llama-real-heads"]())
    runner = lean_runner(tmp_path, dtype)
    if (reason := find_dependent_rows(runner.architecture, dtype, CPU)) is not None:
        pytest.skip(f"not on this machine: {reason}")
    expected = run(runner, PROMPTS[0], strategy="greedy", max_new_tokens=COUNT).tokens
    for wrong in (frozenset[int](), frozenset({5, 11, 12}), frozenset(range(COUNT))):
        for k in (1, 5, 24):
            decoded = run(runner, PROMPTS[0], drafts=KnownFutureDrafter(expected, k, wrong), max_new_tokens=COUNT)
            assert decoded.tokens == expected
            if not wrong:
                assert decoded.statistics.steps == -(-COUNT // (k + 1))


def test_same_seed_same_tokens_with_the_lean_runner(tmp_path: Path) -> None:
    save_model(tmp_path, FAMILY["llama"]())
    runner = lean_runner(tmp_path)
    for seed in (0, 1):
        common: dict[str, Any] = {"temperature": 0.8, "top_p": 0.9, "seed": seed, "max_new_tokens": COUNT}
        expected = run(runner, PROMPTS[0], strategy="greedy", **common).tokens
        assert len(set(expected)) > 5
        for settings in GUESSING:
            assert run(runner, PROMPTS[0], **common, **settings).tokens == expected, settings
