"""What is forgotten leaves no trace: a runner goes on as if it had never been told. Twins share nothing but weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookahead_cli.models.lean.exactness import find_dependent_rows
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.runner import MOST_FORGOTTEN, Runner
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.lean_models import CPU, FAMILY, made_runner, random_tokens
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, SHORT_WINDOW, VOCAB, tiny_model

DTYPES = [torch.float32, torch.bfloat16]
BRANCHED = ([7, 8, 9, 10], [-1, -1, 1, 2])
"""A tree whose second child is accepted: its entries are moved."""
close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
lengths = st.integers(1, 300)
tails = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=40)


def lean_with_its_bits(folder: Path, name: str, dtype: torch.dtype = torch.float32) -> LeanRunner:
    """A runner whose rows do not depend on each other; the test is skipped where they do."""
    runner = made_runner(folder, FAMILY[name](max_position_embeddings=1024), dtype)
    if (reason := find_dependent_rows(runner.architecture, dtype, CPU)) is not None:
        pytest.skip(f"not on this machine: {reason}")
    return runner


def say(runner: Runner, tokens: list[int]) -> int:
    """Commit `tokens`, the first alone, the others in one pass; behind them, where it may be, a path through a tree.
    Returns how many were committed."""
    runner.step(tokens[0], [], [])
    runner.commit([])
    if len(tokens) > 1:
        runner.step(tokens[1], tokens[2:], range(-1, len(tokens) - 3))
        runner.commit(range(len(tokens) - 2))
    if not runner.branching(len(BRANCHED[0])):
        return len(tokens)
    runner.step(6, *BRANCHED)
    runner.commit([1, 2])
    return len(tokens) + 3


def after_fresh_prefill(runner: Runner, prompt: list[int], tokens: list[int]) -> torch.Tensor:
    runner.prefill(prompt)
    return runner.step(tokens[0], tokens[1:], range(-1, len(tokens) - 2))


def after_forgetting(runner: Runner, prompt: list[int], said: list[int], tokens: list[int]) -> torch.Tensor:
    """The same after `said` came between and was forgotten in two parts."""
    runner.prefill(prompt)
    total = say(runner, said)
    runner.forget(total // 2)
    runner.forget(total - total // 2)
    return runner.step(tokens[0], tokens[1:], range(-1, len(tokens) - 2))


@pytest.mark.parametrize("name", ["llama-real-heads", "mistral-window"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_forgetting_changes_no_bit_in_the_lean_runner(tmp_path: Path, name: str, dtype: torch.dtype) -> None:
    runner = lean_with_its_bits(tmp_path, name, dtype)

    @settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
    @given(lengths, tails, tails)
    def check(length: int, said: list[int], tokens: list[int]) -> None:
        prompt = random_tokens(length)
        found = after_forgetting(runner, prompt, said, tokens)
        assert torch.equal(found, after_fresh_prefill(runner, prompt, tokens))

    check()


@pytest.mark.parametrize("start", [125, 120])
def test_a_page_that_was_begun_can_be_forgotten_too(tmp_path: Path, start: int) -> None:
    runner = lean_with_its_bits(tmp_path, "llama-real-heads")
    prompt, said, tokens = random_tokens(start), random_tokens(20, seed=1), random_tokens(12, seed=2)
    found = after_forgetting(runner, prompt, said, tokens)
    assert runner.capacity > runner.pages.slots_for(start)
    assert torch.equal(found, after_fresh_prefill(runner, prompt, tokens))


@pytest.mark.parametrize("name", REWINDABLE)
def test_forgetting_is_as_a_fresh_prefill_in_the_transformers_runner(name: str) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE[name]()))

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(1, 4 * SHORT_WINDOW), tails, tails)
    def check(length: int, said: list[int], tokens: list[int]) -> None:
        prompt = random_tokens(length)
        found = after_forgetting(runner, prompt, said, tokens)
        expected = after_fresh_prefill(runner, prompt, tokens)
        close(found, expected)
        assert torch.equal(found.argmax(-1), expected.argmax(-1))

    check()


@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_a_full_window_has_what_it_needs_to_go_back_and_hardly_more(name: str) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE[name]()))
    prompt, said, tokens = random_tokens(100), random_tokens(MOST_FORGOTTEN, seed=1), random_tokens(9, seed=2)
    runner.prefill(prompt)
    for token in said:
        runner.step(token, [], [])
        runner.commit([])
    windowed = runner.cache.layers[0]
    assert windowed.keys.shape[-2] == SHORT_WINDOW - 1 + MOST_FORGOTTEN
    runner.forget(MOST_FORGOTTEN)
    close(runner.step(tokens[0], tokens[1:], range(-1, 7)), after_fresh_prefill(runner, prompt, tokens))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_sequence_that_begins_like_the_last_one_has_the_bits_of_a_fresh_one(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    runner = lean_with_its_bits(tmp_path, "llama-real-heads", dtype)

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(lengths, tails, st.integers(0, 340), st.integers(0, 300), tails)
    def check(length: int, said: list[int], kept: int, new: int, tokens: list[int]) -> None:
        prompt = random_tokens(length)
        runner.prefill(prompt)
        say(runner, said)
        committed = [*prompt, *said, 6, 8, 9][: runner.length]
        kept = min(kept, len(committed))
        assert runner.keeps(kept)
        following = [*committed[:kept], *random_tokens(new, seed=1)]
        rows: list[torch.Tensor] = []
        heard: list[int] = []
        runner.prefill(following, rows.append, kept=kept, tell=heard.append)
        assert sum(map(len, rows)) == new
        assert heard[-1:] == [len(following)] * bool(new)
        found = runner.step(tokens[0], tokens[1:], range(-1, len(tokens) - 2))
        assert torch.equal(found, after_fresh_prefill(runner, following, tokens))

    check()


@pytest.mark.parametrize("name", REWINDABLE)
def test_a_sequence_that_begins_like_the_last_one_goes_on_from_there_in_the_transformers_runner(name: str) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE[name]()))

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(1, 12 * SHORT_WINDOW), tails, st.integers(1, 140), st.integers(0, 60), tails)
    def check(length: int, said: list[int], kept: int, new: int, tokens: list[int]) -> None:
        prompt = random_tokens(length)
        runner.prefill(prompt)
        for token in said:
            runner.step(token, [], [])
            runner.commit([])
        committed = [*prompt, *said]
        kept = min(kept, len(committed))
        following = [*committed[:kept], *random_tokens(new, seed=1)]
        if runner.keeps(kept):
            runner.prefill(following, kept=kept)
            found = runner.step(tokens[0], tokens[1:], range(-1, len(tokens) - 2))
            close(found, after_fresh_prefill(runner, following, tokens))
        else:
            assert name in ("mistral", "gemma3"), "only a window forgets"
            assert len(committed) - kept > MOST_FORGOTTEN

    check()


def test_going_back_twice_goes_no_further_than_the_cache_can(tmp_path: Path) -> None:
    runner = TransformersRunner(tiny_model(REWINDABLE["mistral"]()))
    runner.prefill(random_tokens(150))
    assert runner.keeps(150 - MOST_FORGOTTEN)
    runner.prefill(random_tokens(150 - MOST_FORGOTTEN), kept=150 - MOST_FORGOTTEN)
    assert not runner.keeps(150 - 2 * MOST_FORGOTTEN)


def test_a_running_state_cannot_forget() -> None:
    runner = TransformersRunner(tiny_model(RUNNING_STATE["mamba"]()))
    runner.prefill([1, 2, 3])
    runner.step(4, [], [])
    runner.commit([])
    with pytest.raises(RuntimeError, match="running state"):
        runner.forget(1)


@pytest.fixture(params=["lean", "transformers"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    if request.param == "lean":
        return made_runner(tmp_path, FAMILY["llama"]())
    return TransformersRunner(tiny_model(REWINDABLE["mistral"]()))


def test_twins_share_weights_and_nothing_of_what_they_were_told(runner: Runner) -> None:
    mine, its = random_tokens(20), random_tokens(30, seed=1)
    expected_mine, expected_its = (after_fresh_prefill(runner, tokens, [5, 6]) for tokens in (mine, its))
    twin = runner.twin()
    runner.prefill(mine)
    twin.prefill(its)
    assert torch.equal(twin.step(5, [6], [-1]), expected_its)
    twin.commit([0])
    assert torch.equal(runner.step(5, [6], [-1]), expected_mine)
    shared = "forward" if isinstance(runner, LeanRunner) else "model"
    assert getattr(twin, shared) is getattr(runner, shared)


def test_a_twin_is_empty_when_it_is_made(runner: Runner) -> None:
    runner.prefill(random_tokens(20))
    close(runner.twin().step(5, [], []), after_fresh_prefill(runner, [], [5]))
