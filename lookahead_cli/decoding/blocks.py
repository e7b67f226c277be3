"""Non-autoregressive block decoding: a block of tokens at a time, refined in a few rounds and then taken as it is.

For contrast only. It is Jacobi iteration (Song et al. 2021, arXiv 2002.03629, algorithm 1) cut off before it has
converged, in the manner of mask-predict (Ghazvininejad et al. 2019, arXiv 1904.09324): nothing is verified, so other
tokens come out than the model would say. As many rounds as a block is long, or blocks of one token, are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from lookahead_cli.decoding.continuation import take_until_end
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import Event, FinishReason, PrefillEvent, StepEvent
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.window_init import FreshSlots, WindowInit
from lookahead_cli.models.runner import Runner

UNVERIFIED = "unverified"
"""Provenance of a token that nothing has verified."""


@dataclass(frozen=True)
class Blocks:
    """How blocks are made."""

    size: int
    rounds: int
    """Forward passes for each block."""
    init: WindowInit


def decode_blocks(
    runner: Runner, blocks: Blocks, selector: TokenSelector, prompt: Sequence[int], ending: Ending
) -> Iterator[Event]:
    """Decode until `ending` says so: one `PrefillEvent`, then a `StepEvent` per forward pass.

    Only the last round of a block emits tokens. `prompt` is what `loop.decode` takes.
    """
    started = perf_counter()
    committed = list(prompt)
    runner.prefill(committed[:-1])
    generator = torch.Generator().manual_seed(selector.settings.seed)
    yield PrefillEvent(len(prompt) - 1, perf_counter() - started)

    unread: list[int] = []
    """Tokens taken without the model having read them: the last block but for what stood in front of it."""
    logits: Tensor | None = None
    finish_reason: FinishReason | None = None
    while finish_reason is None:
        started = perf_counter()
        count = min(blocks.size, ending.remaining)
        slots = FreshSlots(committed, logits, runner.vocab, selector.settings.temperature, generator)
        block = blocks.init(slots, count)
        for last in [False] * (blocks.rounds - 1) + [True]:
            asked_at = perf_counter()
            run = [*committed[len(committed) - 1 - len(unread) :], *block[:-1]]
            logits = runner.step(run[0], run[1:], range(-1, len(run) - 2))[len(unread) :]  # (len(block), vocab)
            forward_seconds = perf_counter() - asked_at
            # The token in front of the block stays the pending one: every round begins with it.
            runner.commit(range(len(unread)))
            runner.forget(1)
            unread = []
            block = refine(logits, selector, committed)
            texts: tuple[str, ...] = ()
            if last:
                texts, finish_reason = take_until_end(block, ending)
                committed += block
                unread, logits = block, logits[-1]
            yield StepEvent(
                token_ids=tuple(block[: len(texts)]),
                provenance=(UNVERIFIED,) * len(texts),
                texts=texts,
                drafted_by={},
                seconds=perf_counter() - started,
                forward_seconds=forward_seconds,
                finish_reason=finish_reason,
            )
            started = perf_counter()


def refine(logits: Tensor, selector: TokenSelector, committed: Sequence[int]) -> list[int]:
    """What the model says at each position of a block, given `logits` (n, vocab) for them: the next Jacobi iterate."""
    before = list(committed)
    for row in logits:
        before.append(selector.select(row, len(before), before))
    return before[len(committed) :]
