"""Strategies by name.

The code behind a strategy is imported when it is chosen, so that the names are known without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.errors import ProfileError

if TYPE_CHECKING:
    from lookahead_cli.decoding.strategy import Strategy
    from lookahead_cli.decoding.wanted import Wanted


def _greedy(wanted: Wanted) -> Strategy:
    from lookahead_cli.decoding.greedy import Greedy

    return Greedy()


def _jacobi(wanted: Wanted) -> Strategy:
    from lookahead_cli.decoding.jacobi import JacobiWindow
    from lookahead_cli.decoding.window_init import WINDOW_INITS
    from lookahead_cli.decoding.window_size import WindowSize

    settings = wanted.settings
    init = WINDOW_INITS[settings.init]
    return JacobiWindow(WindowSize.of(settings.k), init, settings.refill, wanted.sampling, wanted.vocab)


def _lookahead(wanted: Wanted) -> Strategy:
    return merged(wanted.settings.drafters, wanted)


def _prompt_lookup(wanted: Wanted) -> Strategy:
    return merged(["copies"], wanted)


def _speculative(wanted: Wanted) -> Strategy:
    from lookahead_cli.decoding.draft_length import DraftLength
    from lookahead_cli.decoding.select import TokenSelector
    from lookahead_cli.decoding.speculative import Speculative

    fixed = wanted.settings.k if isinstance(wanted.settings.k, int) else None
    return Speculative(wanted.draft_model(), DraftLength(fixed), TokenSelector(wanted.sampling), wanted.vocab)


def merged(names: Sequence[str], wanted: Wanted) -> Strategy:
    """The lookahead strategy with the drafters of these names.

    Raises:
        ProfileError: a window branch is asked for without the pool it fills.
    """
    from lookahead_cli.decoding.budget import StepTimes
    from lookahead_cli.decoding.drafters.ngram_pool import NgramPool
    from lookahead_cli.decoding.hit_rates import HitRates
    from lookahead_cli.decoding.lookahead import Lookahead
    from lookahead_cli.decoding.window_branch import WindowBranch
    from lookahead_cli.decoding.window_init import WINDOW_INITS

    settings, sampling, vocab, known = wanted.settings, wanted.sampling, wanted.vocab, wanted.known
    drafters = [drafter for name in names for drafter in DRAFTERS[name](wanted)]
    rates, times = HitRates(drafters), StepTimes()
    if known.hit_rates is not None:
        try:
            rates.restore(known.hit_rates)
            times = StepTimes(known.step_seconds)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):  # not what was stored: begin anew
            rates, times = HitRates(drafters), StepTimes()
    pools = [drafter for drafter in drafters if isinstance(drafter, NgramPool)]
    if settings.window and not pools:
        raise ProfileError(
            f"window: a window branch only fills the n-gram pool, and {settings.strategy} from "
            f'{", ".join(names)} has none; use strategy "lookahead" with "n-grams" among its drafters, or window = 0'
        )
    window = None
    if settings.window:
        init = WINDOW_INITS[settings.init]
        window = WindowBranch(settings.window, settings.ngram_length, pools[0], init, sampling, vocab)
    nodes = settings.k if isinstance(settings.k, int) else None
    return Lookahead(drafters, rates, times, sampling, vocab, nodes=nodes, window=window)


PLAIN = "greedy"
"""The strategy that drafts nothing: what runs where guesses could not be taken back."""
SPECULATIVE = "speculative"
"""The strategy that needs a draft model."""
STRATEGIES: dict[str, Callable[[Wanted], Strategy]] = {
    PLAIN: _greedy,
    "jacobi": _jacobi,
    "prompt-lookup": _prompt_lookup,
    "lookahead": _lookahead,
    SPECULATIVE: _speculative,
}
BRANCHING = ("prompt-lookup", "lookahead")
"""Strategies whose drafts are trees."""
