"""Strategies by name.

The code behind a strategy is imported when it is chosen, so that the names are known without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lookahead_cli.decoding.drafters.registry import DRAFTERS, Wanted
from lookahead_cli.errors import ProfileError

if TYPE_CHECKING:
    from lookahead_cli.decoding.prior_knowledge import PriorKnowledge
    from lookahead_cli.decoding.select import SamplingSettings
    from lookahead_cli.decoding.strategy import Strategy
    from lookahead_cli.profile import DecodingSettings

    Recall = Callable[[], PriorKnowledge]
    """Reads what a fresh process knows: only strategies that use it have it read."""
    MakeStrategy = Callable[[DecodingSettings, SamplingSettings, int, Recall], Strategy]
    """From the settings, the part of them that selecting uses, the size of the vocabulary, and what is known."""


def _greedy(settings: DecodingSettings, sampling: SamplingSettings, vocab: int, recall: Recall) -> Strategy:
    from lookahead_cli.decoding.greedy import Greedy

    return Greedy()


def _jacobi(settings: DecodingSettings, sampling: SamplingSettings, vocab: int, recall: Recall) -> Strategy:
    from lookahead_cli.decoding.jacobi import JacobiWindow
    from lookahead_cli.decoding.window_init import WINDOW_INITS
    from lookahead_cli.decoding.window_size import WindowSize

    return JacobiWindow(WindowSize.of(settings.k), WINDOW_INITS[settings.init], settings.refill, sampling, vocab)


def _lookahead(settings: DecodingSettings, sampling: SamplingSettings, vocab: int, recall: Recall) -> Strategy:
    return merged(settings.drafters, settings, sampling, vocab, recall)


def _prompt_lookup(settings: DecodingSettings, sampling: SamplingSettings, vocab: int, recall: Recall) -> Strategy:
    return merged(["copies"], settings, sampling, vocab, recall)


def merged(
    names: Sequence[str], settings: DecodingSettings, sampling: SamplingSettings, vocab: int, recall: Recall
) -> Strategy:
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

    known = recall()
    wanted = Wanted(settings, sampling, vocab, known.rehearsed)
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
STRATEGIES: dict[str, MakeStrategy] = {
    PLAIN: _greedy,
    "jacobi": _jacobi,
    "prompt-lookup": _prompt_lookup,
    "lookahead": _lookahead,
}
BRANCHING = ("prompt-lookup", "lookahead")
"""Strategies whose drafts are trees."""
