"""The loop: draft, one forward pass, accept, commit. Every strategy is this loop with other drafts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from lookahead_cli.decoding.draft import VerifiedStep, accept
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import MODEL, Event, FinishReason, PrefillEvent, StepEvent
from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.strategy import Room, Strategy
from lookahead_cli.models.runner import Runner


def decode(
    runner: Runner, strategy: Strategy, selector: TokenSelector, prompt: Sequence[int], ending: Ending
) -> Iterator[Event]:
    """Decode until `ending` says so: one `PrefillEvent`, then a `StepEvent` per forward pass.

    `prompt` holds at least one token and leaves room for one more in the context. Its last token is the first pending
    one: prefill runs all before it, so that a step is the same thing from the first to the last.
    """
    started = perf_counter()
    committed = list(prompt)
    strategy.begin(committed, read_prompt(runner, strategy, committed[:-1]))
    yield PrefillEvent(len(prompt) - 1, perf_counter() - started)

    finish_reason: FinishReason | None = None
    while finish_reason is None:
        started = perf_counter()
        position = len(committed)
        draft = strategy.draft(committed, Room(ending.remaining - 1, runner.branching, runner.seats))
        drafted_at = perf_counter()
        logits = runner.step(committed[-1], draft.tokens, draft.parents)  # (1 + len(draft), vocab)
        computed_at = perf_counter()
        path = accept(draft, logits, selector, committed)
        selected_at = perf_counter()
        runner.commit(path)
        verified_at = perf_counter()
        texts, finish_reason = take_until_end(committed[position:], ending)
        if finish_reason is None:
            strategy.observe(VerifiedStep(position, draft, logits, path, committed, verified_at - started))
        emitted = len(texts)
        yield StepEvent(
            token_ids=tuple(committed[position : position + emitted]),
            provenance=(*(draft.provenance[node] for node in path), MODEL)[:emitted],
            texts=texts,
            drafted_by=draft.count_by_drafter,
            seconds=perf_counter() - started,
            forward_seconds=computed_at - drafted_at,
            draft_seconds=drafted_at - started,
            select_seconds=selected_at - computed_at,
            tested_depth=min(draft.tested_depth(path), emitted),
            finish_reason=finish_reason,
        )


def read_prompt(runner: Runner, strategy: Strategy, tokens: Sequence[int]) -> LikelyTokens | None:
    """Run the prompt through the model; what it finds likely after each token, if the strategy has a use for it."""
    if not strategy.wants_prompt_rows or not tokens:
        runner.prefill(tokens)
        return None
    likely = LikelyTokens([], [])
    runner.prefill(tokens, lambda logits: likely.extend(likely_tokens(logits)))
    return likely


def take_until_end(tokens: Sequence[int], ending: Ending) -> tuple[tuple[str, ...], FinishReason | None]:
    """The text of each token up to the one that ends the generation; those after it were never said."""
    texts = []
    for token in tokens:
        text, finish_reason = ending.take(token)
        texts.append(text)
        if finish_reason is not None:
            return tuple(texts), finish_reason
    return tuple(texts), None
