"""What an engine says about records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lookahead_cli.batch.engine import Answering
from lookahead_cli.batch.feed import Supply
from lookahead_cli.batch.results import Outcome


def outcomes(engine: Answering, supply: Supply, may_enter: Callable[[], bool] = lambda: True) -> Iterator[Outcome]:
    """The outcomes alone, without the moments in between."""
    return (outcome for outcome in engine.answer(supply, may_enter) if outcome is not None)
