"""Strategies by name: which drafter a generation gets. A new drafter is one file and one entry here.

Drafters are imported when chosen, so that the names are known without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookahead_cli.decoding.drafters import Drafter
    from lookahead_cli.decoding.select import SamplingSettings
    from lookahead_cli.profile import DecodingSettings

    MakeDrafter = Callable[[DecodingSettings, SamplingSettings, int], Drafter]
    """From the settings, the part of them that selecting uses, and the size of the vocabulary."""


def _greedy(settings: DecodingSettings, sampling: SamplingSettings, vocab: int) -> Drafter:
    from lookahead_cli.decoding.drafters.nothing import NothingDrafter

    return NothingDrafter()


def _jacobi(settings: DecodingSettings, sampling: SamplingSettings, vocab: int) -> Drafter:
    from lookahead_cli.decoding.drafters.jacobi import JacobiDrafter
    from lookahead_cli.decoding.drafters.window_init import WINDOW_INITS
    from lookahead_cli.decoding.drafters.window_size import WindowSize

    return JacobiDrafter(WindowSize.of(settings.k), WINDOW_INITS[settings.init], settings.refill, sampling, vocab)


PLAIN = "greedy"
"""The strategy that drafts nothing: what runs where guesses could not be taken back."""
STRATEGIES: dict[str, MakeDrafter] = {PLAIN: _greedy, "jacobi": _jacobi}
