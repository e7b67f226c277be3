"""Block decoding: exact where it has to be, and no further."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookahead_cli.decoding.blocks import UNVERIFIED, Blocks, decode_blocks
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from lookahead_cli.decoding.window_init import WINDOW_INITS
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.text.transcript import Transcript
from tests.decoding.decoded import run, tokenizer
from tests.lean_models import FAMILY, made_runner
from tests.tiny_architectures import tiny_model

LENGTH = 24


def blocks_of(runner: Runner, blocks: Blocks, prompt: list[int], sampling: SamplingSettings) -> list[StepEvent]:
    ending = Ending(
        Transcript(tokenizer()), eos_token_ids=frozenset(), max_new_tokens=LENGTH, prompt_tokens=len(prompt),
        context_length=1000,
    )  # fmt: skip
    events = list(decode_blocks(runner, blocks, TokenSelector(sampling), prompt, ending))
    return [event for event in events if isinstance(event, StepEvent)]


@pytest.fixture(scope="module", params=["lean", "transformers"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    if request.param == "lean":
        return made_runner(tmp_path_factory.mktemp("lean"), FAMILY["llama"]())
    return TransformersRunner(tiny_model(FAMILY["llama"]()))


prompts = st.lists(st.integers(3, 90), min_size=1, max_size=6)


@settings(max_examples=20)
@given(
    prompt=prompts, size=st.integers(1, 6), init=st.sampled_from(sorted(WINDOW_INITS)),
    temperature=st.sampled_from([0.0, 0.8]),
)  # fmt: skip
def test_as_many_rounds_as_a_block_is_long_are_exact(
    runner: Runner, prompt: list[int], size: int, init: str, temperature: float
) -> None:
    sampling = SamplingSettings(temperature=temperature, seed=3)
    steps = blocks_of(runner, Blocks(size, size, WINDOW_INITS[init]), prompt, sampling)
    plain = run(runner, prompt, strategy="greedy", temperature=temperature, seed=3, max_new_tokens=LENGTH)
    assert [token for step in steps for token in step.token_ids] == plain.tokens
    assert "".join(step.text for step in steps) == plain.text
    assert {source for step in steps for source in step.provenance} == {UNVERIFIED}


@settings(max_examples=20)
@given(prompt=prompts, size=st.integers(1, 6), rounds=st.integers(1, 4))
def test_a_block_takes_its_rounds_and_starts_right(runner: Runner, prompt: list[int], size: int, rounds: int) -> None:
    steps = blocks_of(runner, Blocks(size, rounds, WINDOW_INITS["random"]), prompt, SamplingSettings())
    emitted = [len(step.token_ids) for step in steps]
    assert [count for count in emitted if count] == [size] * (LENGTH // size) + [LENGTH % size] * (LENGTH % size > 0)
    assert all(count == 0 for place, count in enumerate(emitted) if (place + 1) % rounds)
    plain = run(runner, prompt, strategy="greedy", max_new_tokens=LENGTH).tokens
    certain = min(rounds, size)
    assert list(steps[rounds - 1].token_ids[:certain]) == plain[:certain]
    assert [step.finish_reason for step in steps] == [None] * (len(steps) - 1) + ["length"]


@pytest.mark.parametrize("size", [1, 8])
def test_what_it_has_said_is_what_it_goes_on_from(runner: Runner, size: int) -> None:
    """The cache holds the block itself, not the guesses it was refined from."""
    prompt = [5, 9, 40]
    steps = blocks_of(runner, Blocks(size, 2, WINDOW_INITS["random"]), prompt, SamplingSettings())
    first = [token for step in steps[:2] for token in step.token_ids]
    following = next(step for step in steps[2:] if step.token_ids).token_ids[0]
    assert run(runner, [*prompt, *first], strategy="greedy", max_new_tokens=1).tokens == [following]
