"""A draft model changes no token, only the number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.draft_length import DraftLength
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from lookahead_cli.decoding.speculative import NAME, Speculative
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.wanted import DraftModel
from lookahead_cli.errors import ModelError
from lookahead_cli.models.runner import MOST_FORGOTTEN, Runner
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.decoding.decoded import run
from tests.lean_models import FAMILY, made_runner, random_tokens
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, VOCAB, sizes, tiny_model

COUNT = 40
PROMPTS = [[5, 6, 7], [11], [3, 90, 14, 15, 92, 65, 35, 8, 9, 79, 32, 38, 46, 26]]
SAMPLED: dict[str, Any] = {"temperature": 0.8, "seed": 3}


class WatchedRunner:
    """A runner that notes every token the draft model is given."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        runner.prefill([])
        self.vocab = runner.vocab
        self.given: list[int] = []
        self.passes: list[int] = []
        """Tokens in each pass after prefill."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        self.given += [pending, *tokens]
        self.passes.append(1 + len(tokens))
        return self.runner.step(pending, tokens, parents)


def drafting(runner: Runner, context_length: int = 1000) -> Callable[[], DraftModel]:
    return lambda: DraftModel(runner.twin(), context_length)


def other_model(name: str = "llama", vocab: int = VOCAB, seed: int = 9) -> Runner:
    """A random model that has nothing to do with the one it drafts for."""
    config = REWINDABLE[name]()
    config.vocab_size = vocab
    return TransformersRunner(tiny_model(config, seed))


@pytest.fixture(params=["lean", "mistral", "gpt2"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    if request.param == "lean":
        return made_runner(tmp_path, FAMILY["llama"]())
    return TransformersRunner(tiny_model(REWINDABLE[request.param]()))


@pytest.mark.parametrize("sampling", [{}, SAMPLED, {**SAMPLED, "top_p": 0.9, "repetition_penalty": 1.3}], ids=str)
@pytest.mark.parametrize("k", [1, 4, 9])
def test_every_guess_of_the_model_itself_is_accepted(runner: Runner, sampling: dict[str, Any], k: int) -> None:
    common = {"max_new_tokens": COUNT, **sampling}
    for prompt in PROMPTS:
        expected = run(runner, prompt, strategy="greedy", **common).tokens
        decoded = run(runner, prompt, strategy="speculative", k=k, draft_model=drafting(runner), **common)
        assert decoded.tokens == expected
        assert decoded.statistics.steps == -(-COUNT // (k + 1))
        assert decoded.statistics.acceptance_rate == 1.0
        assert set(decoded.statistics.drafters) == {NAME}


@pytest.mark.parametrize("sampling", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_few_guesses_of_another_model_are_accepted_and_the_tokens_stay(
    runner: Runner, sampling: dict[str, Any]
) -> None:
    common = {"max_new_tokens": COUNT, **sampling}
    accepted = drafted = 0
    for prompt in PROMPTS:
        expected = run(runner, prompt, strategy="greedy", **common).tokens
        for name in ("llama", "gemma3"):
            other = drafting(other_model(name))
            decoded = run(runner, prompt, strategy="speculative", k=4, draft_model=other, **common)
            assert decoded.tokens == expected
            accepted += decoded.statistics.accepted
            drafted += decoded.statistics.drafted
    assert accepted < 0.1 * drafted


def test_the_tokens_are_those_of_transformers() -> None:
    model = tiny_model(REWINDABLE["qwen3"]())
    for prompt in PROMPTS:
        decoded = run(
            TransformersRunner(model), prompt,
            strategy="speculative", k=3, max_new_tokens=COUNT, draft_model=drafting(other_model("qwen3")),
        )  # fmt: skip
        assert decoded.tokens == greedy_tokens(model, prompt, COUNT)


def slightly_changed(model: Any, amount: float) -> Any:
    """A model that often says what `model` says."""
    generator = torch.Generator().manual_seed(1)
    changed = tiny_model(model.config)
    changed.load_state_dict(model.state_dict())
    with torch.no_grad():
        for weight in changed.parameters():
            weight.add_(amount * torch.randn(weight.shape, generator=generator))
    return changed


@pytest.mark.parametrize("kind", ["lean", "llama", "mistral"])
def test_any_k_temperature_seed_and_draft_model_give_the_tokens_of_greedy(kind: str, tmp_path: Path) -> None:
    model = tiny_model(REWINDABLE["llama" if kind == "lean" else kind]())
    drafts: list[Runner] = [TransformersRunner(slightly_changed(model, amount)) for amount in (0.01, 0.03)]
    target: Runner = TransformersRunner(model)
    if kind == "lean":
        target = made_runner(tmp_path / "target", FAMILY["llama"](), seed=0)
        drafts += [made_runner(tmp_path / "draft", FAMILY["qwen3"](), seed=1), target]
    rates = []

    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(
        prompt=st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=12),
        k=st.one_of(st.integers(1, 12), st.just("auto"), st.just(100)),
        temperature=st.sampled_from([0.0, 0.3, 1.0]),
        seed=st.integers(0, 2**31),
        penalty=st.sampled_from([1.0, 1.2]),
        context_length=st.sampled_from([1000, 10, 30]),
        draft=st.sampled_from(drafts),
    )
    def check(
        prompt: list[int], k: Any, temperature: float, seed: int, penalty: float, context_length: int, draft: Runner
    ) -> None:
        common: dict[str, Any] = {
            "max_new_tokens": 25, "temperature": temperature, "seed": seed, "repetition_penalty": penalty
        }  # fmt: skip
        expected = run(target, prompt, strategy="greedy", **common).tokens
        made = drafting(draft, context_length)
        decoded = run(target, prompt, strategy="speculative", k=k, draft_model=made, **common)
        assert decoded.tokens == expected
        rates.append(decoded.statistics.acceptance_rate)

    check()
    assert any(rate is not None and 0 < rate < 1 for rate in rates)


class Recorded(Speculative):
    """Keeps every draft and the text it was made for."""

    def __init__(self, draft: Runner) -> None:
        super().__init__(DraftModel(draft, 1000), DraftLength(5), TokenSelector(SamplingSettings()), VOCAB)
        self.drafts: list[tuple[list[int], list[int]]] = []

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        draft = super().draft(committed, room)
        self.drafts.append((list(committed), list(draft.tokens)))
        return draft


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_after_any_run_of_accepted_guesses_the_draft_model_says_what_it_would_say_afresh(name: str) -> None:
    model = tiny_model(REWINDABLE[name]())
    similar = slightly_changed(model, 0.03)
    recorded = Recorded(TransformersRunner(similar))
    decoded = run(TransformersRunner(model), PROMPTS[2], drafts=recorded, max_new_tokens=60)
    assert len({step.accepted for step in decoded.steps}) > 2
    for text, guesses in recorded.drafts:
        if guesses:
            assert guesses == greedy_tokens(similar, text, len(guesses))


def strategy(draft: Runner, k: int | None = 4, vocab: int = VOCAB, context_length: int = 1000) -> Speculative:
    selector = TokenSelector(SamplingSettings())
    return Speculative(DraftModel(draft, context_length), DraftLength(k), selector, vocab)


def room(depth: int = 100) -> Room:
    return Room(depth, branching=lambda nodes: False)


def test_a_draft_keeps_within_the_room_the_context_and_what_can_be_forgotten() -> None:
    for context_length, depth, expected in [(20, 7, 7), (20, 0, 0), (20, 100, 17), (1000, 100, MOST_FORGOTTEN)]:
        made = strategy(other_model(), k=200, context_length=context_length)
        made.begin([1, 2, 3], None)
        assert len(made.draft([1, 2, 3], room(depth))) == expected
    made = strategy(other_model(), context_length=20)
    made.begin([1, 2, 3], None)
    assert len(made.draft([1] * 20, room())) == 0


def test_a_prompt_that_fills_the_draft_models_context_is_not_read() -> None:
    made = strategy(other_model(), context_length=5)
    made.begin([1] * 5, None)
    assert made.runner.length <= 1, "but for the token that was tried when the runner was made"  # type: ignore[attr-defined]
    assert len(made.draft([1] * 6, room())) == 0
    made.begin([1] * 3, None)
    assert len(made.draft([1] * 3, room())) == 2


def test_the_draft_model_catches_up_in_one_pass() -> None:
    watched = WatchedRunner(other_model())
    made = strategy(watched)
    made.begin([1, 2, 3], None)
    made.draft([1, 2, 3, 4, 5, 6], room())
    assert watched.given[:4] == [3, 4, 5, 6]
    assert watched.passes == [4, 1, 1, 1]
    watched.passes.clear()
    longer = [*range(1, 7), *random_tokens(87)]
    made.draft(longer, room())
    assert watched.passes == [64, 23, 1, 1, 1]


def test_models_padded_to_different_vocabularies() -> None:
    """Never a guess that the model does not know, never a token that the draft model does not know."""
    small, large = VOCAB, VOCAB + 31
    for target_vocab, draft_vocab in ((small, large), (large, small)):
        target = other_model(vocab=target_vocab, seed=0)
        draft = WatchedRunner(other_model("qwen2", vocab=draft_vocab, seed=4))
        for sampling in ({}, {"temperature": 3.0, "repetition_penalty": 1.2}):
            common: dict[str, Any] = {"max_new_tokens": 60, **sampling}
            expected = run(target, PROMPTS[0], strategy="greedy", **common).tokens
            model = partial(DraftModel, draft, 1000)
            decoded = run(target, PROMPTS[0], strategy="speculative", k=5, draft_model=model, **common)
            assert decoded.tokens == expected
            assert draft.given
            assert max(draft.given) < min(target_vocab, draft_vocab)


def test_after_a_token_it_does_not_know_the_draft_model_is_asked_no_more_until_the_next_text() -> None:
    made = strategy(other_model(), vocab=VOCAB + 10)
    made.begin([1, 2, 3], None)
    assert len(made.draft([1, 2, 3], room())) == 4
    assert len(made.draft([1, 2, 3, VOCAB], room())) == 0
    assert len(made.draft([1, 2, 3, VOCAB, 4], room())) == 0
    made.begin([VOCAB + 1, 3], None)
    assert len(made.draft([VOCAB + 1, 3], room())) == 0
    made.begin([2, 3], None)
    assert len(made.draft([2, 3], room())) == 4


def test_a_damaged_draft_model_is_named() -> None:
    config = REWINDABLE["llama"]()
    model = tiny_model(config)
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    made = strategy(TransformersRunner(model))
    made.begin([1, 2, 3], None)
    with pytest.raises(ModelError, match=r"^draft model: the model's logits at position 3 are not finite"):
        made.draft([1, 2, 3], room())


def test_reading_the_prompt_counts_as_prefill_and_guessing_as_drafting() -> None:
    target, draft = other_model(seed=0), other_model()
    decoded = run(target, PROMPTS[2], strategy="speculative", k=8, max_new_tokens=20, draft_model=drafting(draft))
    assert decoded.statistics.decode_seconds > 1.5 * decoded.statistics.forward_seconds


def test_auto_does_without_a_useless_draft_model_and_uses_a_perfect_cheap_one() -> None:
    slow = other_model(seed=0)
    prompt = PROMPTS[0]
    auto: dict[str, Any] = {"strategy": "speculative", "k": "auto", "max_new_tokens": 150}
    useless = run(slow, prompt, draft_model=drafting(other_model()), **auto)
    assert sum(step.drafted for step in useless.steps[75:]) < 0.5 * 75
    large = TransformersRunner(tiny_model(type(REWINDABLE["llama"]())(**sizes(num_hidden_layers=12))))
    known = run(large, prompt, strategy="greedy", max_new_tokens=200).tokens
    perfect = drafting(KnownText([*prompt, *known]))  # type: ignore[arg-type]
    decoded = run(large, prompt, draft_model=perfect, **auto)
    assert decoded.tokens == known[:150]
    assert max(step.drafted for step in decoded.steps) == 16


class KnownText:
    """A runner that says a text and takes no time."""

    vocab = VOCAB

    def __init__(self, text: list[int]) -> None:
        self.text = text
        self.length = 0

    def twin(self) -> KnownText:
        return self

    def keeps(self, count: int) -> bool:
        return False

    def prefill(self, tokens: Sequence[int], *, kept: int) -> None:
        assert kept == 0
        self.length = len(tokens)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        following = self.text[self.length + 1 : self.length + 2 + len(tokens)]
        return torch.nn.functional.one_hot(torch.tensor(following), VOCAB).float()

    def commit(self, path: Sequence[int]) -> None:
        self.length += 1 + len(path)

    def forget(self, count: int) -> None:
        self.length -= count
