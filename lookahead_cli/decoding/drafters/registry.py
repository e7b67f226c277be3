"""Drafters by name. A new drafter is one file and one entry here.

The code behind a name is imported when it is chosen, so that the names are known without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookahead_cli.decoding.drafters import Drafter
    from lookahead_cli.decoding.wanted import Wanted


def _copies(wanted: Wanted) -> Sequence[Drafter]:
    from lookahead_cli.decoding.drafters.copies import Copies

    return [Copies(wanted.settings.pool_entries)]


def _successors(wanted: Wanted) -> Sequence[Drafter]:
    from lookahead_cli.decoding.drafters import LONGEST_CONTEXT
    from lookahead_cli.decoding.drafters.successors import ModelSuccessors, Successors

    rehearsed = wanted.known.rehearsed
    by_context: list[Drafter] = [
        Successors(order, wanted.settings.pool_entries, rehearsed) for order in range(1, LONGEST_CONTEXT + 1)
    ]
    return by_context if rehearsed is None else [*by_context, ModelSuccessors(rehearsed)]


def _runner_ups(wanted: Wanted) -> Sequence[Drafter]:
    from lookahead_cli.decoding.drafters.runner_ups import RunnerUps

    return [RunnerUps()]


def _ngram_pool(wanted: Wanted) -> Sequence[Drafter]:
    from lookahead_cli.decoding.drafters.ngram_pool import NgramPool

    return [NgramPool(wanted.settings.pool_entries)]


def _iterates(wanted: Wanted) -> Sequence[Drafter]:
    from lookahead_cli.decoding.drafters.iterates import Iterates
    from lookahead_cli.decoding.window_init import WINDOW_INITS

    return [Iterates(WINDOW_INITS[wanted.settings.init], wanted.sampling, wanted.vocab)]


DRAFTERS: dict[str, Callable[[Wanted], Sequence[Drafter]]] = {
    "copies": _copies,
    "successors": _successors,
    "runner-ups": _runner_ups,
    "n-grams": _ngram_pool,
    "jacobi": _iterates,
}
