"""How many guesses a pass of many texts is worth, and whether guessing is worth its trouble at all.

The more texts share a pass, the less a guess brings: it costs the same, but a pass without guesses brings a token for
each text already. So few texts get deep trees, and many get thin ones or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lookahead_cli.decoding.budget import StepTimes
from lookahead_cli.decoding.growth import Grower
from lookahead_cli.decoding.shared_growth import grow_while_it_pays

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Numbers of rows of a pass whose times are kept."""
ASSUMED_COST = 0.03
"""What a row is taken to add to the time of a pass until it has been measured. Steeper than for one text: trying wide
passes costs all texts their time."""
FADING = 0.98
"""What is left of the experience with guessing after a pass with guesses."""
TRIAL_EVERY, TRIAL_PASSES = 100, 20
"""While guessing does not pay, one text guesses in the last of so many passes."""
FEWEST_PASSES = 5.0
"""Passes with guesses before that experience counts."""


@dataclass(frozen=True)
class PassRecord:
    """What a pass cost and brought."""

    texts: int
    """Texts that made a step."""
    guessing: int
    """Of these, texts that drafted, and learned afterwards."""
    drafted: int
    accepted: int
    forward_seconds: float
    """Inside the model."""
    guessing_seconds: float
    """Spent on drafting and learning, outside the model."""
    reads: bool
    """Whether prompts were read in the same pass."""


class SharedBudget:
    """Decides for every pass which texts guess, and how many guesses each is given."""

    def __init__(self, earlier: Mapping[str, float] | None = None) -> None:
        """`earlier` is what `export` of its `times`, by the rows of a pass, gave; what is none of that is left out."""
        try:
            self.times = StepTimes(earlier, WIDTHS, ASSUMED_COST)
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            self.times = StepTimes(None, WIDTHS, ASSUMED_COST)
        self.idle_passes = 0
        """Since guessing was last found to pay."""
        self.passes = self.texts = self.drafted = self.accepted = self.seconds = 0.0
        """Sums over the latest passes in which texts guessed; `texts` counts those texts."""

    def guessing(self, texts: int) -> int:
        """How many of so many texts are to guess in this pass: all; or none, and for a while one, to notice when that
        has become better."""
        if self._guessing_pays(texts):
            self.idle_passes = 0
            return texts
        self.idle_passes += 1
        return 1 if self.idle_passes % TRIAL_EVERY >= TRIAL_EVERY - TRIAL_PASSES else 0

    def _guessing_pays(self, texts: int) -> bool:
        """Whether so many texts are written faster with guesses, their making and learning included."""
        if self.passes < FEWEST_PASSES or not self.texts:
            return True
        curve = self.times.curve
        rows = min(texts, self.times.widest)
        gain, nodes = self.accepted / self.texts, self.drafted / self.texts
        wider = min(round(texts * (1 + nodes)), self.times.widest)
        with_guesses = self.times.pace * curve[wider] + texts * self.seconds / self.texts
        return texts * (1 + gain) / with_guesses > texts / (self.times.pace * curve[rows])

    def sizes(self, growers: Sequence[Grower], confidence: Sequence[float], rows: int, texts: int) -> list[int]:
        """Nodes for each tree, in a pass that has `rows` without them, for so many texts. The trees grow that far."""
        if rows >= self.times.widest:
            return [0] * len(growers)
        return grow_while_it_pays(growers, confidence, self.times.curve, width=rows, tokens=float(texts))

    def learn(self, found: PassRecord) -> None:
        """Take in a pass."""
        if found.texts and not found.reads:
            self.times.add(found.texts + found.drafted, found.forward_seconds)
        if found.guessing:
            for name in ("passes", "texts", "drafted", "accepted", "seconds"):
                setattr(self, name, FADING * getattr(self, name))
            self.passes += 1
            self.texts += found.guessing
            self.drafted += found.drafted
            self.accepted += found.accepted
            self.seconds += found.guessing_seconds
