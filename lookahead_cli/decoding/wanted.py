"""What a strategy or a drafter may want to know when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookahead_cli.decoding.prior_knowledge import PriorKnowledge
    from lookahead_cli.decoding.select import SamplingSettings
    from lookahead_cli.models.runner import Runner
    from lookahead_cli.profile import DecodingSettings


@dataclass(frozen=True)
class DraftModel:
    """A smaller model with the same tokens, ready to run."""

    runner: Runner
    """Nobody else uses its cache. It can take back what it was told."""
    context_length: int


@dataclass(frozen=True)
class Wanted:
    """What is costly is a function, called by those who use it."""

    settings: DecodingSettings
    sampling: SamplingSettings
    """The part of the settings that selecting uses."""
    vocab: int
    """Number of token ids the model takes."""
    recall: Callable[[], PriorKnowledge]
    """Reads what a fresh process knows; ask `known`, which does it once."""
    draft_model: Callable[[], DraftModel]
    """Loads the draft model, unless that was done."""

    @cached_property
    def known(self) -> PriorKnowledge:
        """What a fresh process knows."""
        return self.recall()
