"""How many tokens a draft model guesses before the model checks them: a number, or as many as pay."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median

from lookahead_cli.decoding.budget import KEPT_TIMES, STALE_STEPS, StepTimes

MOST_AUTO_GUESSES = 16
"""Longest draft of `k = "auto"`: the last guesses of a longer one are hardly ever reached."""
ASSUMED_COST = 0.25
"""Time of a guess as a part of a plain step, until both have been measured."""
ASSUMED_CHECKED, ASSUMED_ACCEPTED = 2.0, 1.4
"""The record to start with, and to return to while nothing is guessed."""
FADING, IDLE_FADING = 0.95, 0.99
"""What is left of the record after a step with guesses, and after one without, in which doubt fades: so guesses are
tried again now and then, the more rarely the dearer they are."""


class AcceptanceRate:
    """How likely a guess of the draft model is accepted if those before it were, by the latest steps."""

    def __init__(self) -> None:
        self.checked, self.accepted = ASSUMED_CHECKED, ASSUMED_ACCEPTED

    def add(self, drafted: int, accepted: int) -> None:
        """A step accepted the first `accepted` of `drafted` guesses. Behind the first wrong one nothing is learned."""
        if drafted:
            self.checked = FADING * self.checked + min(accepted + 1, drafted)
            self.accepted = FADING * self.accepted + accepted
        else:
            self.checked = ASSUMED_CHECKED + IDLE_FADING * (self.checked - ASSUMED_CHECKED)
            self.accepted = ASSUMED_ACCEPTED + IDLE_FADING * (self.accepted - ASSUMED_ACCEPTED)

    @property
    def value(self) -> float:
        return self.accepted / self.checked


class DraftLength:
    """The number of guesses, fixed or following what is accepted and what it costs."""

    def __init__(self, fixed: int | None) -> None:
        """`fixed` None: as many as pay."""
        self.fixed = fixed
        self.rate = AcceptanceRate()
        self.step_times = StepTimes()
        """Of the model's steps by number of guesses, without the time the guesses took."""
        self.guess_seconds: deque[float] = deque(maxlen=KEPT_TIMES)
        self.idle_steps = 0
        """Since the latest guess."""
        self.has_run = False

    def choose(self, most: int) -> int:
        """How many guesses to make now, at most `most`."""
        if self.fixed is not None:
            return min(self.fixed, most)
        if self.has_run and not self.step_times.knows_plain_steps:
            return 0
        plain = self._plain_step
        steps = [max(time / plain, 1.0) for time in self.step_times.curve[: min(most, MOST_AUTO_GUESSES) + 1]]
        return best_length(self.rate.value, self._cost_of_a_guess, [1.0, *steps[1:]])

    def guessed(self, seconds: float) -> None:
        """The draft model took that long for a guess."""
        self.guess_seconds.append(seconds)

    def verified(self, drafted: int, accepted: int, seconds: float) -> None:
        """The first `accepted` of `drafted` guesses were right; without them the step took `seconds`."""
        self.rate.add(drafted, accepted)
        self.idle_steps = 0 if drafted else self.idle_steps + 1
        if self.idle_steps == STALE_STEPS:
            self.guess_seconds.clear()  # they may have been measured in a bad moment
        if self.has_run:  # the first pass of a process is slower than all others
            self.step_times.add(drafted, seconds)
        self.has_run = True

    @property
    def _plain_step(self) -> float:
        """Time of a step without guesses, by the curve. Guesses make no step shorter: if one with them was, the plain
        ones were measured while the machine did something else."""
        return min(self.step_times.curve)

    @property
    def _cost_of_a_guess(self) -> float:
        """In plain steps."""
        if not (self.guess_seconds and self.step_times.knows_plain_steps):
            return ASSUMED_COST
        return median(self.guess_seconds) / (self.step_times.pace * self._plain_step)


def best_length(acceptance: float, guess_cost: float, step_costs: Sequence[float]) -> int:
    """The number of guesses with most expected tokens per time; 0 where none pays.

    With k guesses that are accepted with probability a each, a step is expected to bring 1 + a + ... + a^k tokens, that
    is (1 - a^(k+1)) / (1 - a), and takes `step_costs[k]` + k * `guess_cost` (Leviathan et al. 2023, arXiv 2211.17192,
    theorem 3.8, where every step costs 1). Costs are in plain steps.
    """
    expected, best, best_rate = 0.0, 0, 0.0
    for guesses, step_cost in enumerate(step_costs):
        expected += acceptance**guesses
        rate = expected / (step_cost + guesses * guess_cost)
        if rate > best_rate:
            best, best_rate = guesses, rate
    return best
