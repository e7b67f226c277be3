"""The loop: draft, one forward pass, accept, commit. Every strategy is this loop with other drafts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from lookahead_cli.decoding.continuation import Continuation, StepSeconds
from lookahead_cli.decoding.events import Event, FinishReason, PrefillEvent
from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.runner import Runner


def decode(runner: Runner, text: Continuation, kept: int = 0, progress: Progress = silent) -> Iterator[Event]:
    """Decode until the text ends: one `PrefillEvent`, then a `StepEvent` per forward pass.

    The first `kept` tokens of the prompt are in the runner's cache already, which must be able to keep them.
    """
    started = perf_counter()
    to_read = text.to_read
    text.strategy.begin(text.committed, read_prompt(runner, text.strategy, to_read, kept, progress))
    yield PrefillEvent(len(to_read) - kept, perf_counter() - started, kept)

    finish_reason: FinishReason | None = None
    while finish_reason is None:
        started = perf_counter()
        draft = text.strategy.draft(text.committed, text.room(runner.branching, runner.seats))
        drafted = perf_counter()
        logits = runner.step(text.pending, draft.tokens, draft.parents)  # (1 + len(draft), vocab)
        computed = perf_counter()
        path = text.accept(draft, logits)
        selected = perf_counter()
        runner.commit(path)
        seconds = StepSeconds(drafted - started, computed - drafted, selected - computed, perf_counter() - started)
        event = text.conclude(draft, logits, path, seconds)
        finish_reason = event.finish_reason
        yield replace(event, seconds=perf_counter() - started)


def read_prompt(
    runner: Runner, strategy: Strategy, tokens: Sequence[int], kept: int = 0, progress: Progress = silent
) -> LikelyTokens | None:
    """Run the prompt through the model, but for the `kept` tokens it has read before; what it finds likely after each
    token, if the strategy has a use for it."""
    new = len(tokens) - kept

    def tell(read: int) -> None:
        progress(f"reading the prompt, {new:,} tokens", (read - kept) / new if new else None)

    tell(kept)
    if not strategy.wants_prompt_rows or not new:
        runner.prefill(tokens, kept=kept, tell=tell)
        return None
    likely = LikelyTokens([], [], first=kept)
    runner.prefill(tokens, lambda logits: likely.extend(likely_tokens(logits)), kept=kept, tell=tell)
    return likely
