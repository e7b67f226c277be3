"""How likely each guess is right, learned from what the drafters said before.

Every drafter sorts its guesses into kinds; how often a kind was right is counted. Where several drafters speak about
the same place, their log-odds are added with weights, and the weights too are learned, one set for each group of
drafters that speak together: logistic mixing (Mattern 2012, arXiv 1212.0662), as data compressors do it. The result
is a probability that can be set against the cost of a node.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lookahead_cli.decoding.drafters import Drafter

EXPECTED_SILENT = 0.02
"""Where the rate of tokens that a drafter could have named and did not starts."""
REMEMBERED = 400.0
"""Trials after which old ones fade, so that rates follow the text."""
FIRST_WEIGHT, ONLY_WEIGHT = 0.4, 1.0
"""Where weights start: several drafters repeat each other, a single one is taken at its word."""
LEARNING_RATE = 0.005
LARGEST_LOG_ODDS = 8.0


class HitRate:
    """How often guesses of one kind were right."""

    __slots__ = ("hits", "log_odds", "trials")

    def __init__(self, hits: float, trials: float) -> None:
        self.hits = hits
        self.trials = trials
        self._refresh()

    def add(self, hit: bool) -> None:
        self.trials += 1.0
        if hit:
            self.hits += 1.0
        if self.trials > REMEMBERED:
            self.hits *= REMEMBERED / self.trials
            self.trials = REMEMBERED
        self._refresh()

    def _refresh(self) -> None:
        rate = (self.hits + 0.02) / (self.trials + 0.14)
        self.log_odds = math.log(rate / (1 - rate))


@dataclass
class Weights:
    """How the log-odds of one group of drafters are added."""

    members: tuple[int, ...]
    """Indices of the drafters that speak."""
    values: list[float]
    """One for each member."""
    bias: float = 0.0


@dataclass(slots=True)
class Assessment:
    """What is expected at one place, and everything needed to learn from what comes."""

    probabilities: dict[int, float]
    """Token -> how likely it is right; they sum to 1 at most."""
    weights: Weights
    spoken: list[tuple[list[HitRate], Mapping[int, int], HitRate]]
    """For each member: nothing more than what it said, and the rate of what it did not say."""


class HitRates:
    """The rates and weights of a group of drafters. Numbers only: no token, no text."""

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        self.drafters = drafters
        self.rates: list[dict[int, HitRate]] = [{} for _ in drafters]
        self.silent: dict[tuple[int, int], HitRate] = {}
        self.weights: dict[int, Weights] = {}

    def beside(self, drafters: Sequence[Drafter]) -> HitRates:
        """The same rates and weights for drafters of the same kinds: what either learns, both know."""
        twin = copy.copy(self)
        twin.drafters = drafters
        return twin

    def assess(self, states: Sequence[Any]) -> Assessment | None:
        """Mix what the drafters say at a place, given their states there; None if none has anything to say."""
        said = []
        group = 0
        for index, drafter in enumerate(self.drafters):
            guesses = drafter.guesses(states[index])
            if guesses:
                said.append((index, guesses))
                group |= 1 << index
        if not said:
            return None
        weights = self.weights.get(group)
        if weights is None:
            weights = self.weights[group] = self._first_weights([index for index, _ in said])
        base = weights.bias
        mixed: dict[int, float] = {}
        spoken = []
        for weight, (index, guesses) in zip(weights.values, said, strict=True):
            silent = self.silent.get((group, index))
            if silent is None:
                silent = self.silent[group, index] = HitRate(2 * EXPECTED_SILENT, 2.0)
            base += weight * silent.log_odds
            rates = self.rates[index]
            found = []
            for token, kind in guesses.items():
                rate = rates.get(kind)
                if rate is None:
                    rate = rates[kind] = self._first_rate(index, kind)
                found.append(rate)
                mixed[token] = mixed.get(token, 0.0) + weight * (rate.log_odds - silent.log_odds)
            spoken.append((found, guesses, silent))
        probabilities = {}
        total = 0.0
        for token, log_odds in mixed.items():
            probabilities[token] = probability = logistic(base + log_odds)
            total += probability
        if total > 1.0:
            probabilities = {token: probability / total for token, probability in probabilities.items()}
        return Assessment(probabilities, weights, spoken)

    def learn(self, assessment: Assessment, token: int) -> None:
        """The token that came out where `assessment` was made: one step of gradient descent on the log loss."""
        weights = assessment.weights
        values = weights.values
        gradients = [0.0] * len(values)
        errors = {guess: (guess == token) - probability for guess, probability in assessment.probabilities.items()}
        total = sum(errors.values())
        for member, (rates, guesses, silent) in enumerate(assessment.spoken):
            log_odds = silent.log_odds
            gradient = total * log_odds
            for guess, rate in zip(guesses, rates, strict=True):
                gradient += errors[guess] * (rate.log_odds - log_odds)
            gradients[member] = gradient
        for member, gradient in enumerate(gradients):
            values[member] += LEARNING_RATE * gradient
        weights.bias += LEARNING_RATE * total
        for rates, guesses, silent in assessment.spoken:
            for guess, rate in zip(guesses, rates, strict=True):
                rate.add(guess == token)
            for guess in assessment.probabilities:
                if guess not in guesses:
                    silent.add(guess == token)

    def strongest(self, assessment: Assessment, token: int) -> str:
        """The name of the drafter whose word counts most for `token`: the provenance of the guess."""
        best, name = -math.inf, ""
        for index, (rates, guesses, _) in zip(assessment.weights.members, assessment.spoken, strict=True):
            if token in guesses:
                log_odds = rates[list(guesses).index(token)].log_odds
                if log_odds > best:
                    best, name = log_odds, self.drafters[index].name
        return name

    def _first_rate(self, index: int, kind: int) -> HitRate:
        return HitRate(2 * self.drafters[index].expected(kind), 2.0)

    def _first_weights(self, members: Iterable[int]) -> Weights:
        members = tuple(members)
        weight = ONLY_WEIGHT if len(members) == 1 else FIRST_WEIGHT
        return Weights(members, [weight] * len(members))

    def export(self) -> dict[str, Any]:
        """As plain lists and numbers, by the drafters' keys; `restore` takes it back."""
        keys = [drafter.key for drafter in self.drafters]
        return {
            "rates": {
                key: {str(kind): [round(rate.hits, 2), round(rate.trials, 2)] for kind, rate in sorted(rates.items())}
                for key, rates in zip(keys, self.rates, strict=True)
            },
            "silent": {
                self._group_name(group, index): [round(rate.hits, 2), round(rate.trials, 2)]
                for (group, index), rate in self.silent.items()
            },
            "weights": {
                "+".join(keys[member] for member in weights.members): [
                    round(value, 4) for value in (*weights.values, weights.bias)
                ]
                for weights in self.weights.values()
            },
        }

    def restore(self, exported: Mapping[str, Any]) -> None:
        """Take over what was learned before; entries about drafters that are not there, or that make no sense, are left
        out.

        Raises:
            AttributeError, KeyError: it is not what `export` gives.
        """
        place = {drafter.key: index for index, drafter in enumerate(self.drafters)}
        senseless = suppress(ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
        for key, rates in exported["rates"].items():
            for kind, stored in rates.items():
                with senseless:
                    self.rates[place[key]][int(kind)] = checked_rate(*stored)
        for name, stored in exported["silent"].items():
            with senseless:
                group, _, key = name.partition(" without ")
                bits = sum(1 << place[member] for member in group.split("+"))
                self.silent[bits, place[key]] = checked_rate(*stored)
        for name, numbers in exported["weights"].items():
            with senseless:
                members = tuple(place[member] for member in name.split("+"))
                *values, bias = (float(number) for number in numbers)
                if len(values) == len(members) and all(map(math.isfinite, (*values, bias))):
                    self.weights[sum(1 << member for member in members)] = Weights(members, values, bias)

    def _group_name(self, group: int, index: int) -> str:
        members = [drafter.key for place, drafter in enumerate(self.drafters) if group >> place & 1]
        return f"{'+'.join(members)} without {self.drafters[index].key}"


def logistic(log_odds: float) -> float:
    """The probability with these log-odds, kept away from 0 and 1."""
    return 1.0 / (1.0 + math.exp(-max(-LARGEST_LOG_ODDS, min(LARGEST_LOG_ODDS, log_odds))))


def checked_rate(hits: Any, trials: Any) -> HitRate:
    """A rate read from outside. Raises ValueError if it cannot be one."""
    hits, trials = float(hits), float(trials)
    if not 0 <= hits <= trials <= 2 * REMEMBERED:
        raise ValueError(f"{hits} of {trials}")
    return HitRate(hits, trials)
