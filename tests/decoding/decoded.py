"""Running the loop on a bare model, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lookahead_cli.decoding.continuation import Continuation
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import FinishReason, StepEvent
from lookahead_cli.decoding.loop import decode
from lookahead_cli.decoding.prior_knowledge import PriorKnowledge
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.decoding.wanted import DraftModel, Wanted
from lookahead_cli.models.runner import Runner
from lookahead_cli.profile import DecodingSettings
from lookahead_cli.session import sampling_settings
from lookahead_cli.text.transcript import Transcript
from tests.tiny_models import tiny_tokenizer


@dataclass
class Decoded:
    """What came of a generation."""

    tokens: list[int]
    text: str
    steps: list[StepEvent]
    finish_reason: FinishReason | None
    statistics: Statistics


def no_draft_model() -> DraftModel:
    raise AssertionError("only the strategy that uses a draft model has it loaded")


def made(settings: DecodingSettings, vocab: int, draft_model: Callable[[], DraftModel] = no_draft_model) -> Strategy:
    """The strategy of the settings, with nothing known beforehand."""
    wanted = Wanted(settings, sampling_settings(settings), vocab, PriorKnowledge, draft_model)
    return STRATEGIES[settings.strategy](wanted)


@cache
def tokenizer() -> Any:
    """The backend of the tiny byte-level tokenizer."""
    return tiny_tokenizer().backend_tokenizer


def run(
    runner: Runner,
    prompt: Sequence[int],
    *,
    drafts: Strategy | None = None,
    eos: frozenset[int] = frozenset(),
    context_length: int = 1000,
    draft_model: Callable[[], DraftModel] = no_draft_model,
    **decoding: Any,
) -> Decoded:
    """Decode with the strategy of the settings, or with `drafts`."""
    settings = DecodingSettings(**decoding)
    if settings.repetition_penalty == "auto":
        settings = settings.model_copy(update={"repetition_penalty": 1.0})
    sampling = sampling_settings(settings)
    ending = Ending(
        Transcript(tokenizer(), settings.stop),
        eos_token_ids=eos,
        max_new_tokens=settings.max_new_tokens,
        prompt_tokens=len(prompt),
        context_length=context_length,
    )
    drafts = drafts or made(settings, runner.vocab, draft_model)
    statistics, steps = Statistics(), []
    for event in decode(runner, Continuation(prompt, drafts, TokenSelector(sampling), ending)):
        statistics.add(event)
        if isinstance(event, StepEvent):
            steps.append(event)
    return Decoded(
        [token for step in steps for token in step.token_ids],
        "".join(step.text for step in steps),
        steps,
        steps[-1].finish_reason,
        statistics,
    )
