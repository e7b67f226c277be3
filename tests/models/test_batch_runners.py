"""Sequences that share passes get the logits that each gets alone, whoever enters and leaves beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from lookahead_cli.batch.batch_size import BatchSize
from lookahead_cli.errors import ResourceError
from lookahead_cli.models.batch_runner import BatchRunner, BatchStep, Chunk
from lookahead_cli.models.batching import batch_runner_for
from lookahead_cli.models.lean.batch_runner import LeanBatchRunner
from lookahead_cli.models.lean.exactness import find_dependent_rows
from lookahead_cli.models.lean.racks import MOST_SLACK, Rack
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.one_by_one import OneByOne
from lookahead_cli.models.transformers_batch_runner import TransformersBatchRunner
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.lean_models import CPU, FAMILY, made_runner, random_tokens
from tests.models.schedules import Schedule, run_through
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, VOCAB, sizes, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

DTYPES = [torch.float32, torch.bfloat16]
MORE: dict[str, Any] = {
    "gemma": lambda: transformers.GemmaConfig(**sizes(head_dim=8)),
    "olmoe": lambda: transformers.OlmoeConfig(**sizes(num_experts=4, num_experts_per_tok=2)),
    "falcon": lambda: transformers.FalconConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.2,
        tie_word_embeddings=False, bos_token_id=1, eos_token_id=None,
    ),
    "deepseek-v3": lambda: transformers.DeepseekV3Config(
        **sizes(
            num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
            v_head_dim=8, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1,
            moe_intermediate_size=16,
        )
    ),
}  # fmt: skip
"""Further models whose attention sees everything."""
TOGETHER: dict[str, Any] = {
    name: config for name, config in {**REWINDABLE, **MORE}.items() if name not in ("mistral", "gemma3")
}
APART: dict[str, Any] = {
    **{name: REWINDABLE[name] for name in ("mistral", "gemma3")},
    **RUNNING_STATE,
    "bloom": lambda: transformers.BloomConfig(
        vocab_size=VOCAB, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.2, bos_token_id=1, eos_token_id=None
    ),
    "llama-dynamic": lambda: transformers.LlamaConfig(
        **sizes(rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0})
    ),
}


def equal(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert torch.equal(found, expected), f"off by {float((found - expected).abs().max())}"


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert torch.equal(found.argmax(-1), expected.argmax(-1))


def lean_with_its_bits(folder: Path, name: str, dtype: torch.dtype) -> LeanRunner:
    """A runner whose rows do not depend on each other; the test is skipped where they do."""
    runner = made_runner(folder, FAMILY[name](max_position_embeddings=2048), dtype)
    if (reason := find_dependent_rows(runner.architecture, dtype, CPU)) is not None:
        pytest.skip(f"not on this machine: {reason}")
    return runner


def transformers_runner(config: Any) -> TransformersRunner:
    return TransformersRunner(tiny_model(config()))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_batch_of_the_lean_runner_changes_no_bit(tmp_path: Path, name: str, dtype: torch.dtype) -> None:
    runner = lean_with_its_bits(tmp_path, name, dtype)
    batch = LeanBatchRunner(runner.forward)
    for story in run_through(Schedule(batch, seed=1, texts=5, steps=5, longest_prompt=700, nodes=16)):
        story.check(runner, equal)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_large_batch_of_the_lean_runner_changes_no_bit(tmp_path: Path, name: str, dtype: torch.dtype) -> None:
    runner = lean_with_its_bits(tmp_path, name, dtype)
    batch = LeanBatchRunner(runner.forward)
    for story in run_through(Schedule(batch, 0, texts=20, steps=40, longest_prompt=1000, nodes=40)):
        story.check(runner, equal)


@pytest.mark.parametrize("name", TOGETHER)
def test_sequences_in_one_cache_are_as_if_alone(name: str) -> None:
    runner = transformers_runner(TOGETHER[name])
    batch = batch_runner_for(runner)
    assert isinstance(batch, TransformersBatchRunner)
    for seed in range(2):
        for story in run_through(Schedule(batch, seed)):
            story.check(runner, close)


@pytest.mark.parametrize("name", APART)
def test_what_cannot_share_a_pass_is_run_one_by_one(name: str) -> None:
    runner = transformers_runner(APART[name])
    batch = batch_runner_for(runner)
    assert isinstance(batch, OneByOne)
    assert batch.obstacle
    nodes = 0 if runner.rewind_obstacle else 8
    for story in run_through(Schedule(batch, seed=1, nodes=nodes)):
        story.check(runner, equal)
    assert not batch.sequences


def test_there_is_no_use_for_a_batch_of_what_is_run_one_by_one() -> None:
    alone = batch_runner_for(transformers_runner(REWINDABLE["mistral"]))
    together = batch_runner_for(transformers_runner(REWINDABLE["llama"]))
    for size in (3, "auto"):
        assert BatchSize(size, 1e9, alone).most == 1
    assert BatchSize(3, 1e9, together).most == 3


def test_a_model_that_mixes_sequences_up_is_found_out() -> None:
    model = tiny_model(REWINDABLE["llama"]())
    runner = TransformersRunner(model)
    assert runner.tree_obstacle is None  # known from before
    model.model.forward = partial(without_mask, model.model.forward)
    assert "apart" in str(TransformersBatchRunner(runner).obstacle)


def without_mask(forward: Any, *given: Any, **options: Any) -> Any:
    return forward(*given, **{**options, "attention_mask": None})


def entries_of(batch: LeanBatchRunner | TransformersBatchRunner) -> set[int]:
    """What is in its cache: seats that are taken, or entries of each layer."""
    if isinstance(batch, LeanBatchRunner):
        return {sum(rack.seats for rack in batch.racks.values())}
    return {entries.shape[-2] for layer in batch.cache.layers for entries in (layer.keys, layer.values)}


def test_the_cache_of_transformers_holds_what_is_committed_and_the_latest_pass() -> None:
    batch = TransformersBatchRunner(transformers_runner(REWINDABLE["llama"]))
    assert batch.obstacle is None
    for steps in Schedule(batch, seed=3, texts=20, steps=10):
        rows = sum(1 + len(step.tokens) for step in steps)
        assert entries_of(batch) == {sum(batch.lengths.values()) + rows}
    assert entries_of(batch) == {0}
    assert batch.bytes_for(10) == sum(
        10 * entries[..., :1, :].new_zeros(entries.shape[1] * entries.shape[3]).nbytes
        for layer in batch.cache.layers
        for entries in (layer.keys, layer.values)
    )


def test_a_cache_that_finds_no_memory_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = LeanBatchRunner(made_runner(tmp_path, FAMILY["llama"]()).forward)
    for sequence in (0, 1):
        batch.enter(sequence)
    batch.run([Chunk(0, [1, 2, 3], is_last=True)], [])

    def full(rack: Rack, seats: int) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(Rack, "_resize", full)
    with pytest.raises(ResourceError, match="a KV cache for 2 tokens cannot be made on cpu"):
        batch.begin_like(1, 0, 2)


def test_racks_have_few_empty_seats_and_none_in_the_end(tmp_path: Path) -> None:
    runner = made_runner(tmp_path, FAMILY["llama"](max_position_embeddings=1024))
    batch = LeanBatchRunner(runner.forward)
    for _ in Schedule(batch, seed=3, texts=30, steps=6, longest_prompt=400):
        for rack in batch.racks.values():
            assert rack.seats <= MOST_SLACK * len(rack.sitting)
            assert {layer.shape[1] for layer in rack.layers} == {rack.seats}
    assert entries_of(batch) == {0}


POISON = 50
"""A token whose embedding is not finite."""


@pytest.fixture(params=["lean", "transformers"])
def poisonous(request: pytest.FixtureRequest, tmp_path: Path) -> LeanRunner | TransformersRunner:
    """A runner of a model that breaks down over one token."""
    if request.param == "lean":
        runner = made_runner(tmp_path, FAMILY["llama"]())
        runner.forward.weights.embedding[POISON] = torch.nan
        return runner
    model = tiny_model(REWINDABLE["llama"]())
    with torch.no_grad():
        model.model.embed_tokens.weight[POISON] = torch.nan
    return TransformersRunner(model)


def say(batch: BatchRunner, tokens: dict[int, int], chunks: Sequence[Chunk] = ()) -> dict[int, torch.Tensor]:
    """A step without guesses of each of these sequences; the logits."""
    found = batch.run(chunks, [BatchStep(number, token, [], []) for number, token in tokens.items()])
    batch.commit({number: [] for number in tokens})
    return dict(zip(tokens, found, strict=True))


def test_a_sequence_over_which_the_model_breaks_down_spoils_no_other(
    poisonous: LeanRunner | TransformersRunner,
) -> None:
    batch = batch_runner_for(poisonous)
    prompts = {number: random_tokens(12, seed=number) for number in range(4)}
    prompts[1][5] = POISON
    for number in prompts:
        batch.enter(number)
    batch.run([Chunk(number, prompts[number][:4], is_last=False) for number in (0, 1, 2)], [])
    batch.run([Chunk(number, prompts[number][4:], is_last=True) for number in (0, 1)], [])
    found = [say(batch, {0: 7, 1: 8}, [Chunk(2, prompts[2][4:], is_last=True)])]
    found.append(say(batch, {0: 9, 1: 9, 2: 7}, [Chunk(3, prompts[3], is_last=True)]))
    batch.leave(1)
    found.append(say(batch, {3: 5, 2: POISON, 0: 4}))
    batch.leave(2)
    batch.enter(1)  # where there is room now
    found.append(say(batch, {3: 6, 0: 5, 1: 6}))
    assert not any(logits[number].isfinite().any() for logits, number in zip(found, (1, 1, 2), strict=False))

    for number, said in {0: (7, 9, 4, 5), 3: (5, 6)}.items():
        poisonous.prefill(prompts[number])
        for token, logits in zip(said, found[-len(said) :], strict=True):
            close(logits[number], poisonous.step(token, [], []))
            poisonous.commit([])
    poisonous.prefill([])
    close(found[-1][1], poisonous.step(6, [], []))


def test_a_guess_over_which_the_model_breaks_down_spoils_no_other_sequence() -> None:
    model = tiny_model(REWINDABLE["llama"]())
    with torch.no_grad():
        model.model.embed_tokens.weight[POISON] = torch.nan
    runner = TransformersRunner(model)
    batch = batch_runner_for(runner)
    for number in (0, 1):
        batch.enter(number)
    _, sound = batch.run([], [BatchStep(0, 5, [POISON, 7], [-1, -1]), BatchStep(1, 6, [7, 8], [-1, -1])])
    batch.commit({0: [], 1: [1]})
    runner.prefill([])
    close(sound, runner.step(6, [7, 8], [-1, -1]))
    runner.commit([1])
    close(say(batch, {0: 9, 1: 9})[1], runner.step(9, [], []))
