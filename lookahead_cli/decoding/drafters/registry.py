"""Drafters by name. A new drafter is one file and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lookahead_cli.decoding.drafters import (
    LONGEST_CONTEXT,
    Drafter,
    copies,
    iterates,
    ngram_pool,
    runner_ups,
    successors,
)
from lookahead_cli.decoding.prior_knowledge import RehearsedContexts
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.window_init import WINDOW_INITS

if TYPE_CHECKING:
    from lookahead_cli.profile import DecodingSettings

MakeDrafters = Callable[["DecodingSettings", SamplingSettings, int, "RehearsedContexts | None"], Sequence[Drafter]]
"""From the settings, the part of them that selecting uses, the size of the vocabulary, and what was rehearsed."""


def _copies(
    settings: DecodingSettings, sampling: SamplingSettings, vocab: int, rehearsed: RehearsedContexts | None
) -> Sequence[Drafter]:
    return [copies.Copies(settings.pool_entries)]


def _successors(
    settings: DecodingSettings, sampling: SamplingSettings, vocab: int, rehearsed: RehearsedContexts | None
) -> Sequence[Drafter]:
    by_context: list[Drafter] = [
        successors.Successors(order, settings.pool_entries, rehearsed) for order in range(1, LONGEST_CONTEXT + 1)
    ]
    return by_context + ([successors.ModelSuccessors(rehearsed)] if rehearsed is not None else [])


def _runner_ups(
    settings: DecodingSettings, sampling: SamplingSettings, vocab: int, rehearsed: RehearsedContexts | None
) -> Sequence[Drafter]:
    return [runner_ups.RunnerUps()]


def _ngram_pool(
    settings: DecodingSettings, sampling: SamplingSettings, vocab: int, rehearsed: RehearsedContexts | None
) -> Sequence[Drafter]:
    return [ngram_pool.NgramPool(settings.pool_entries)]


def _iterates(
    settings: DecodingSettings, sampling: SamplingSettings, vocab: int, rehearsed: RehearsedContexts | None
) -> Sequence[Drafter]:
    return [iterates.Iterates(WINDOW_INITS[settings.init], sampling, vocab)]


DRAFTERS: dict[str, MakeDrafters] = {
    copies.NAME: _copies,
    successors.NAME: _successors,
    runner_ups.NAME: _runner_ups,
    ngram_pool.NAME: _ngram_pool,
    iterates.NAME: _iterates,
}
