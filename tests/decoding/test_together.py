"""Texts that go on together are those that each would be alone: the same tokens, the same text, the same end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from lookahead_cli.decoding.continuation import Continuation
from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.decoding.greedy import Greedy
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.shared_budget import SharedBudget
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.decoding.together import Member, Together, Turn
from lookahead_cli.errors import LookaheadError
from lookahead_cli.models.batching import batch_runner_for
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.seats import Unlimited
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.profile import DecodingSettings
from lookahead_cli.session import sampling_settings
from lookahead_cli.text.transcript import Transcript
from tests.decoding.decoded import made, run, tokenizer
from tests.lean_models import FAMILY, lean_runner, made_runner, random_tokens, save_model
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, tiny_model

STRATEGIES: list[dict[str, Any]] = [
    {"strategy": "greedy"},
    {"strategy": "jacobi", "k": 4},
    {"strategy": "jacobi", "k": "auto"},
    {"strategy": "lookahead", "k": "auto"},
    {"strategy": "lookahead", "k": 8},
    {"strategy": "lookahead", "k": 6, "window": 3, "ngram_length": 3},
    {"strategy": "prompt-lookup", "k": "auto"},
]
GREEDY = STRATEGIES[0]


@dataclass(frozen=True)
class Wish:
    """A text that is asked for."""

    prompt: Sequence[int]
    decoding: dict[str, Any] = field(default_factory=dict)
    eos: frozenset[int] = frozenset()
    context_length: int = 1000


@dataclass
class Told:
    """A text that was written, or was not."""

    tokens: list[int] = field(default_factory=list)
    text: str = ""
    finish_reason: str | None = None
    failure: str | None = None


def alone(runner: Runner, wish: Wish, **strategy: Any) -> Told:
    """What comes of a text by itself."""
    settings = {"repetition_penalty": 1.0, **strategy, **wish.decoding}
    try:
        decoded = run(runner, wish.prompt, eos=wish.eos, context_length=wish.context_length, **settings)
    except LookaheadError as error:
        return Told(failure=str(error))
    return Told(decoded.tokens, decoded.text, decoded.finish_reason)


def together(
    runner: Runner, wishes: Sequence[Wish], size: int, chance: random.Random, budget: SharedBudget, **strategy: Any
) -> list[Told]:
    """What comes of texts of which up to `size` go on at a time. They enter when chance has it."""
    first = made(DecodingSettings(repetition_penalty=1.0, **strategy), runner.vocab)
    party = Together(batch_runner_for(runner), budget)
    told = [Told() for _ in wishes]
    waiting = list(range(len(wishes)))
    chance.shuffle(waiting)
    while waiting or len(party):
        while waiting and len(party) < size and (not len(party) or chance.random() < 0.4):
            number = waiting.pop()
            party.enter(number, continuation(wishes[number], first, strategy))
        for number, what in party.step():
            if isinstance(what, StepEvent):
                told[number].tokens += what.token_ids
                told[number].text += what.text
                told[number].finish_reason = what.finish_reason
            else:
                told[number] = Told(failure=str(what))
    return told


def continuation(wish: Wish, beside: Strategy, strategy: dict[str, Any]) -> Continuation:
    settings = DecodingSettings(**{"repetition_penalty": 1.0, **strategy, **wish.decoding})
    sampling = sampling_settings(settings)
    ending = Ending(
        Transcript(tokenizer(), settings.stop),
        eos_token_ids=wish.eos,
        max_new_tokens=settings.max_new_tokens,
        prompt_tokens=len(wish.prompt),
        context_length=wish.context_length,
    )
    return Continuation(wish.prompt, beside.beside(sampling), TokenSelector(sampling), ending)


def some_wishes(runner: Runner, count: int, longest_prompt: int = 40) -> list[Wish]:
    """Texts of different lengths and seeds, and all the ways in which one ends."""
    chance = random.Random(1)
    wishes = []
    for number in range(count):
        prompt = random_tokens(1 if number % 5 == 0 else chance.randint(2, longest_prompt), seed=number)
        # Some sample, and the seeds differ; what is repetitive is where guesses are right.
        sampled = {"temperature": 0.8, "seed": number} if number % 2 else {"temperature": 0.0}
        decoding: dict[str, Any] = {"max_new_tokens": chance.randint(1, 40), **sampled}
        told = alone(runner, Wish(prompt, {**decoding, "max_new_tokens": 40}), **GREEDY)
        middle = len(told.tokens) // 2
        wishes.append(
            [
                Wish(prompt, decoding),
                Wish(prompt, {**decoding, "max_new_tokens": 40, "stop": [told.text[middle : middle + 2]]}),
                Wish(prompt, {**decoding, "max_new_tokens": 40}, eos=frozenset({told.tokens[middle]})),
                Wish(prompt, {**decoding, "max_new_tokens": 40}, context_length=len(prompt) + middle),
            ][number % 4]
        )
    return wishes


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    folder = tmp_path_factory.mktemp("lean")
    save_model(folder, FAMILY["llama"](max_position_embeddings=1024))
    return lean_runner(folder)


@pytest.fixture(scope="module")
def wishes(lean: Runner) -> list[Wish]:
    return some_wishes(lean, 16)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: " ".join(map(str, strategy.values())))
def test_texts_that_go_on_together_are_those_that_each_is_alone(
    lean: Runner, wishes: list[Wish], strategy: dict[str, Any]
) -> None:
    expected = [alone(lean, wish, **strategy) for wish in wishes]
    assert {told.finish_reason for told in expected} == {"length", "stop", "eos", "context"}
    budget = SharedBudget()
    for size in (1, 2, 4, 7):
        assert together(lean, wishes, size, random.Random(size), budget, **strategy) == expected, size


@pytest.mark.parametrize("name", ["gpt2", "mistral", "mamba"])
def test_so_it_is_with_transformers(name: str) -> None:
    """In one cache, over a sliding window and with a running state, which takes no guesses."""
    runner = TransformersRunner(tiny_model({**REWINDABLE, **RUNNING_STATE}[name]()))
    wishes = some_wishes(runner, 8)
    for strategy in [GREEDY] if runner.rewind_obstacle else [GREEDY, *STRATEGIES[3:5]]:
        expected = [alone(runner, wish, **strategy) for wish in wishes]
        assert together(runner, wishes, 4, random.Random(1), SharedBudget(), **strategy) == expected


@pytest.mark.parametrize("strategy", STRATEGIES[3:5], ids=["auto", "fixed"])
def test_long_prompts_are_read_while_others_are_written(lean: Runner, strategy: dict[str, Any]) -> None:
    wishes = some_wishes(lean, 8, longest_prompt=700)
    assert max(len(wish.prompt) for wish in wishes) > 512
    expected = [alone(lean, wish, **strategy) for wish in wishes]
    assert together(lean, wishes, 4, random.Random(2), SharedBudget(), **strategy) == expected


@pytest.mark.parametrize("strategy", STRATEGIES[2:4], ids=["jacobi", "lookahead"])
def test_beginnings_in_common_change_nothing(lean: Runner, strategy: dict[str, Any]) -> None:
    """They are read once, and taken over from whoever has read most of it."""
    begun = random_tokens(300)
    wishes = [
        Wish([*begun[:length], *random_tokens(tail, seed=length + tail)], {"max_new_tokens": 10 + length % 7})
        for length in (300, 130, 129, 20, 10, 0)
        for tail in (1, 2, 30)
    ]
    expected = [alone(lean, wish, **strategy) for wish in wishes]
    for size in (1, 4, 7):
        assert together(lean, wishes, size, random.Random(size), SharedBudget(), **strategy) == expected


def test_nothing_is_said_in_a_step_that_fails() -> None:
    """Else another text could take over from its cache what is not kept there."""
    member = Member(0, continuation(Wish([1, 2]), Greedy(), GREEDY), unread=[])
    draft = Draft.chain([3, 4], "copies")
    logits = torch.nn.functional.one_hot(torch.tensor([3, 4, 5]), 9).float()
    logits[2] = torch.nan
    turn = Turn(member, member.text.room(lambda nodes: True, Unlimited), draft)
    turn.accept(logits)
    assert turn.failure is not None
    assert turn.path == ()
    assert member.text.committed == [1, 2]


POISON = 50
"""A token whose embedding is not finite."""


def broken_lean(folder: Path) -> Runner:
    runner = made_runner(folder, FAMILY["llama"]())
    runner.forward.weights.embedding[POISON] = torch.nan
    return runner


def broken_transformers(_: Path) -> Runner:
    model = tiny_model(REWINDABLE["llama"]())
    with torch.no_grad():
        model.model.embed_tokens.weight[POISON] = torch.nan
    return TransformersRunner(model)


@pytest.mark.parametrize("make", [broken_lean, broken_transformers], ids=["lean", "transformers"])
def test_a_text_whose_logits_are_not_finite_fails_alone(make: Any, tmp_path: Path) -> None:
    runner = make(tmp_path)
    prompts = [random_tokens(20, seed=number) for number in range(8)]
    wishes = [Wish([token for token in prompt if token != POISON], {"max_new_tokens": 12}) for prompt in prompts]
    for number in (2, 5):
        wishes[number] = Wish([*prompts[number][:10], POISON, *prompts[number][10:]], {"max_new_tokens": 12})
    wishes[6] = Wish([*prompts[6], POISON], {"max_new_tokens": 12})  # not read before its first step
    expected = [alone(runner, wish, **GREEDY) for wish in wishes]
    assert sum(told.failure is not None and "not finite" in told.failure for told in expected) in range(3, 6)
    for size in (1, 3, 8):
        assert together(runner, wishes, size, random.Random(size), SharedBudget(), **GREEDY) == expected


@pytest.mark.parametrize("make", [broken_lean, broken_transformers], ids=["lean", "transformers"])
def test_nor_does_one_fail_that_begins_like_it(make: Any, tmp_path: Path) -> None:
    runner = make(tmp_path)
    begun = [token for token in random_tokens(40, seed=3) if token != POISON]
    wishes = [Wish([*begun, token, 7, 8], {"max_new_tokens": 5}) for token in (POISON, 1, 2, POISON, 3, 4, 5, 6)]
    expected = [alone(runner, wish, **GREEDY) for wish in wishes]
    assert sum(told.failure is None for told in expected) > 2
    for size in (1, 2, 5):
        for seed in range(4):
            assert together(runner, wishes, size, random.Random(seed), SharedBudget(), **GREEDY) == expected
