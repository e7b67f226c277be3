"""A step's event says what was guessed and what became of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.events import MODEL, StepEvent
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.decoding.decoded import run
from tests.decoding.known_future import KnownFutureDrafter
from tests.made_steps import step_of, steps
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, tiny_model

PROMPT = [5, 6, 7]
COUNT = 24
EVERY_WAY: list[dict[str, Any]] = [
    {"strategy": "greedy"},
    {"strategy": "jacobi", "k": 4},
    {"strategy": "jacobi", "k": 4, "temperature": 0.9},
    {"strategy": "lookahead", "k": 16},
    {"strategy": "lookahead", "k": 8, "window": 3, "ngram_length": 3},
]


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model(REWINDABLE["llama"]())


@pytest.mark.parametrize("settings", EVERY_WAY, ids=lambda settings: "-".join(map(str, settings.values())))
def test_the_path_leads_through_the_draft_along_the_emitted_tokens(model: Any, settings: dict[str, Any]) -> None:
    decoded = run(TransformersRunner(model), PROMPT, max_new_tokens=COUNT, **settings)
    for step in decoded.steps:
        assert len(step.draft) == step.drafted
        assert step.draft.count_by_drafter == step.drafted_by
        assert [step.draft.tokens[node] for node in step.path] == list(step.token_ids[:-1])
        assert [step.draft.parents[node] for node in step.path] == [ROOT, *step.path][: len(step.path)]
        assert step.provenance == (*(step.draft.provenance[node] for node in step.path), MODEL)
        assert {type(token) for token in (*step.draft.tokens, *step.draft.parents)} <= {int}
    assert sum(len(step.draft) for step in decoded.steps) == decoded.statistics.drafted
    assert sum(len(step.path) for step in decoded.steps) == decoded.statistics.accepted
    if settings.get("window"):
        assert any("window" in step.draft.provenance for step in decoded.steps)


def test_guesses_behind_the_end_are_neither_accepted_nor_rejected(model: Any) -> None:
    future = greedy_tokens(model, PROMPT, COUNT)
    for place, eos in enumerate(future):
        if future.index(eos) < place:
            continue
        drafter = KnownFutureDrafter(future, k=COUNT)
        decoded = run(TransformersRunner(model), PROMPT, drafts=drafter, eos=frozenset({eos}), max_new_tokens=COUNT)
        [step] = decoded.steps
        # The whole text is one run of right guesses, and the last token is the model's own if it ends nothing before.
        assert step.path == tuple(range(min(place + 1, COUNT - 1)))
        assert step.unneeded == tuple(range(place + 1, COUNT - 1))
        assert step.rejected == ()


def test_branches_beside_the_end_are_rejected_and_those_behind_it_are_not_needed() -> None:
    draft = Draft((1, 2, 3, 4, 5, 6), (ROOT, ROOT, 0, 0, 2, 4), ("copies",) * 6)
    ended = step_of(draft, (0, 2), own=None)
    assert (ended.rejected, ended.unneeded) == ((1, 3), (4, 5))
    went_on = step_of(draft, (0, 2), own=9)
    assert (went_on.rejected, went_on.unneeded) == ((1, 3, 4, 5), ())


@given(step=steps())
def test_every_guess_is_accepted_rejected_or_not_needed(step: StepEvent) -> None:
    assert sorted((*step.path, *step.rejected, *step.unneeded)) == list(range(len(step.draft)))
