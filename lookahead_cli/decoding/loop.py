"""The loop: draft, one forward pass, accept, commit. Every strategy is this loop with another drafter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from lookahead_cli.decoding.draft import VerifiedStep, accept
from lookahead_cli.decoding.drafters import Drafter
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import MODEL, Event, FinishReason, PrefillEvent, StepEvent
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.models.runner import Runner


def decode(
    runner: Runner, drafter: Drafter, selector: TokenSelector, prompt: Sequence[int], ending: Ending
) -> Iterator[Event]:
    """Decode until `ending` says so: one `PrefillEvent`, then a `StepEvent` per forward pass.

    `prompt` holds at least one token and leaves room for one more in the context. Its last token is the first pending
    one: prefill runs all before it, so that a step is the same thing from the first to the last.
    """
    started = perf_counter()
    committed = list(prompt)
    drafter.begin(committed, runner.prefill(committed[:-1]))
    yield PrefillEvent(len(prompt) - 1, perf_counter() - started)

    finish_reason: FinishReason | None = None
    while finish_reason is None:
        started = perf_counter()
        position = len(committed)
        draft = drafter.draft(committed, limit=ending.remaining - 1)  # the bonus token takes the last place
        logits = runner.step(committed[-1], draft.tokens, draft.parents)  # (1 + len(draft), vocab)
        path = accept(draft, logits, selector, committed)
        runner.commit(path)
        texts, finish_reason = take_until_end(committed[position:], ending)
        if finish_reason is None:
            drafter.observe(VerifiedStep(position, draft, logits, path))
        emitted = len(texts)
        yield StepEvent(
            token_ids=tuple(committed[position : position + emitted]),
            provenance=(*(draft.provenance[node] for node in path), MODEL)[:emitted],
            texts=texts,
            drafted=len(draft),
            seconds=perf_counter() - started,
            finish_reason=finish_reason,
        )


def take_until_end(tokens: Sequence[int], ending: Ending) -> tuple[tuple[str, ...], FinishReason | None]:
    """The text of each token up to the one that ends the generation; those after it were never said."""
    texts = []
    for token in tokens:
        text, finish_reason = ending.take(token)
        texts.append(text)
        if finish_reason is not None:
            return tuple(texts), finish_reason
    return tuple(texts), None
