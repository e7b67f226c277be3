"""Growing a draft tree: the most promising guess first, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.drafters import Drafter
from lookahead_cli.decoding.hit_rates import Assessment, HitRates
from lookahead_cli.models.seats import Seats, Unlimited

LEAST_PROMISE = 0.001
"""Guesses less likely than this to be accepted are not even queued."""

Foresight = Callable[[dict[int, float], int], dict[int, float]]
"""Probabilities at a depth, given what is known beforehand of how the choice will be made there."""


class Tree:
    """A draft in the making, a trie: what is there already is not added twice."""

    def __init__(self, seats: Seats | None = None) -> None:
        self.seats = seats or Unlimited()
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.provenance: list[str] = []
        self.promise: list[float] = []
        """For each node how likely it is to be accepted."""
        self.nodes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, parent: int, token: int, provenance: str, promise: float = 0.0) -> int:
        """The node for `token` after `parent`, made if it is not there; there must be room for it."""
        node = self.nodes.setdefault((parent, token), len(self.tokens))
        if node == len(self.tokens):
            self.seats.take(parent)
            self.tokens.append(token)
            self.parents.append(parent)
            self.provenance.append(provenance)
            self.promise.append(promise)
        return node

    def has_room(self, parent: int, token: int) -> bool:
        """Whether `add` would be all right."""
        return (parent, token) in self.nodes or self.seats.fits(parent)

    def first(self, count: int, seats: Seats | None = None) -> Tree:
        """The tree of its first `count` nodes, which take `seats` in the same order."""
        tree = Tree(seats)
        for node in range(count):
            tree.add(self.parents[node], self.tokens[node], self.provenance[node], self.promise[node])
        return tree

    def draft(self) -> Draft:
        return Draft(tuple(self.tokens), tuple(self.parents), tuple(self.provenance))


class Grower:
    """Grows one tree node by node, best expected gain first.

    The gain of a node is the probability that it is accepted: the product of the probabilities along its path. So the
    nodes come in falling order of gain, and stopping after any number of them leaves the best tree of that size.
    """

    def __init__(
        self,
        drafters: Sequence[Drafter],
        rates: HitRates,
        committed: Sequence[int],
        *,
        most_depth: int,
        branching: bool,
        foresight: Foresight,
        seats: Seats | None = None,
    ) -> None:
        self.drafters = drafters
        self.rates = rates
        self.most_depth = most_depth
        self.branching = branching
        self.foresight = foresight
        self.tree = Tree(seats)
        self.assessments: dict[int, Assessment] = {}
        """By node (ROOT: the pending token): what was expected after it."""
        self.queued = 0
        self.queue: list[tuple[float, int, int, int, int]] = []
        """(-promise, order of queueing, parent, token, depth)"""
        self.states: dict[int, list[Any]] = {ROOT: [drafter.root(committed) for drafter in drafters]}
        self._look_ahead(ROOT, 1.0, 1)
        self._pass_over()

    @property
    def promise(self) -> float:
        """How likely the next node is to be accepted; 0 if there is none."""
        return -self.queue[0][0] if self.queue else 0.0

    def grow(self) -> None:
        """Add the most promising node."""
        negative, _, parent, token, depth = heappop(self.queue)
        provenance = self.rates.strongest(self.assessments[parent], token)
        node = self.tree.add(parent, token, provenance, -negative)
        if depth < self.most_depth:
            states = self.states[parent]
            self.states[node] = [
                drafter.follow(state, token) for drafter, state in zip(self.drafters, states, strict=True)
            ]
            self._look_ahead(node, -negative, depth + 1)
        self._pass_over()

    def _pass_over(self) -> None:
        """Drop guesses for which the step has no room, so that the first of the queue can always be added."""
        while self.queue and not self.tree.has_room(self.queue[0][2], self.queue[0][3]):
            heappop(self.queue)

    def _look_ahead(self, node: int, promise: float, depth: int) -> None:
        """Queue what may follow `node`."""
        assessment = self.rates.assess(self.states[node])
        if assessment is None:
            return
        self.assessments[node] = assessment
        probabilities = self.foresight(assessment.probabilities, depth)
        if not self.branching:
            best = max(probabilities, key=lambda token: probabilities[token])
            probabilities = {best: probabilities[best]}
        for token, probability in probabilities.items():
            if promise * probability > LEAST_PROMISE:
                self.queued += 1
                heappush(self.queue, (-promise * probability, self.queued, node, token, depth))
