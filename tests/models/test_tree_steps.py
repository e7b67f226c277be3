"""A tree of guesses in one forward pass gives the logits of each path alone, and leaves the cache as if only the
accepted path had ever been there."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.models.trees import drafts
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, SHORT_WINDOW, VOCAB, tiny_model

close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
WHOLE_CONTEXT = sorted(set(REWINDABLE) - {"mistral", "gemma3"})
WINDOWED = ["mistral", "gemma3"]


def alone(model: Any, tokens: list[int]) -> torch.Tensor:
    """Logits (len(tokens), vocab) of a fresh forward pass without cache."""
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
    return logits


def check_rows(model: Any, before: list[int], draft: Draft, logits: torch.Tensor) -> None:
    for node in range(ROOT, len(draft)):
        tokens = [draft.tokens[step] for step in draft.path_to(node)]
        close(logits[1 + node], alone(model, [*before, *tokens])[-1])


@pytest.mark.parametrize("name", WHOLE_CONTEXT)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_each_path_of_a_tree_step_is_as_if_alone_and_only_the_accepted_one_stays(
    name: str, data: st.DataObject
) -> None:
    model = tiny_model(REWINDABLE[name]())
    runner = TransformersRunner(model)
    committed = data.draw(st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=8))
    runner.prefill(committed[:-1])
    for _ in range(3):
        draft = data.draw(drafts(VOCAB))
        assert runner.branching(len(draft))
        logits = runner.step(committed[-1], draft.tokens, draft.parents)
        check_rows(model, committed, draft, logits)
        path = draft.path_to(data.draw(st.integers(ROOT, len(draft) - 1)))
        runner.commit(path)
        committed += [draft.tokens[node] for node in path]
        # The cache is that of a fresh pass over the committed tokens: as many entries, with the same content.
        fresh = TransformersRunner(model)
        fresh.prefill(committed)
        assert runner.length == len(committed)
        for ours, expected in zip(runner.cache.layers, fresh.cache.layers, strict=True):
            close(ours.keys, expected.keys)
            close(ours.values, expected.values)
        committed.append(data.draw(st.integers(0, VOCAB - 1)))


@pytest.mark.parametrize("name", WINDOWED)
def test_a_sliding_window_takes_trees_until_it_is_full(name: str) -> None:
    model = tiny_model(REWINDABLE[name]())
    runner = TransformersRunner(model)
    draft = Draft((5, 6, 7), (-1, -1, 1), ("test",) * 3)
    before = [1, 2, 3]
    runner.prefill(before[:-1])
    assert runner.branching(len(draft))
    check_rows(model, before, draft, runner.step(before[-1], draft.tokens, draft.parents))
    runner.commit([1, 2])
    before += [6, 7, 8]
    assert len(before) + len(draft) > SHORT_WINDOW
    assert not runner.branching(len(draft))
    chain = Draft.chain([9, 10], "test")
    check_rows(model, before, chain, runner.step(before[-1], chain.tokens, chain.parents))


@pytest.mark.parametrize("name", sorted(RUNNING_STATE))
def test_a_running_state_takes_no_tree(name: str) -> None:
    assert not TransformersRunner(tiny_model(RUNNING_STATE[name]())).branching(1)


def test_a_model_that_counts_positions_by_rows_takes_no_tree() -> None:
    """BLOOM's ALiBi slopes follow the order of the rows, whatever positions it is told."""
    config = transformers.BloomConfig(
        vocab_size=VOCAB, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.2, bos_token_id=1, eos_token_id=None
    )
    runner = TransformersRunner(tiny_model(config))
    assert runner.rewind_obstacle is None
    assert not runner.branching(2)
    assert runner.tree_obstacle


def test_a_model_that_has_a_window_of_its_own_over_the_cache_takes_no_tree() -> None:
    """GPT-Neo's local attention counts entries, whatever positions they were given: only a long text shows it."""
    config = transformers.GPTNeoConfig(
        vocab_size=VOCAB, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
        window_size=SHORT_WINDOW, max_position_embeddings=64, initializer_range=0.2, bos_token_id=1, eos_token_id=None,
    )  # fmt: skip
    runner = TransformersRunner(tiny_model(config))
    assert not runner.branching(2)
    assert "mask of its own" in str(runner.tree_obstacle)


def test_an_attention_that_ignores_the_mask_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As flash attention does, which knows causal masks only."""
    model = tiny_model(REWINDABLE["llama"]())

    def causal_only(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
        groups = query.shape[1] // key.shape[1]
        rows, length = query.shape[2], key.shape[2]
        mask = torch.ones(rows, length, dtype=torch.bool).tril(length - rows)
        output = torch.nn.functional.scaled_dot_product_attention(
            query, key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1), attn_mask=mask
        )
        return output.transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("causal_only", causal_only)
    model.set_attn_implementation("causal_only")
    runner = TransformersRunner(model)
    assert not runner.branching(2)
    assert "mask" in str(runner.tree_obstacle)
    before = [1, 2, 3]
    runner.prefill(before[:-1])
    chain = Draft.chain([9, 10], "test")
    check_rows(model, before, chain, runner.step(before[-1], chain.tokens, chain.parents))
