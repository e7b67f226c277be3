"""Strategies by name: which drafter a generation gets. A new drafter is one file and one entry here.

Drafters are imported when chosen, so that the names are known without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookahead_cli.decoding.drafters import Drafter
    from lookahead_cli.decoding.select import TokenSelector
    from lookahead_cli.profile import DecodingSettings

    MakeDrafter = Callable[[DecodingSettings, TokenSelector, int], Drafter]
    """From the settings, the selector and the size of the vocabulary."""


def _greedy(settings: DecodingSettings, selector: TokenSelector, vocab: int) -> Drafter:
    from lookahead_cli.decoding.drafters.nothing import NothingDrafter

    return NothingDrafter()


def _jacobi(settings: DecodingSettings, selector: TokenSelector, vocab: int) -> Drafter:
    from lookahead_cli.decoding.budget import WindowSize
    from lookahead_cli.decoding.drafters.jacobi import JacobiDrafter
    from lookahead_cli.decoding.drafters.window_init import WINDOW_INITS

    return JacobiDrafter(WindowSize.of(settings.k), WINDOW_INITS[settings.init], settings.refill, selector, vocab)


STRATEGIES: dict[str, MakeDrafter] = {"greedy": _greedy, "jacobi": _jacobi}
