"""The lookahead strategy: everything free in one tree, as large as pays."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from lookahead_cli.decoding.budget import MOST_NODES, StepTimes, TrackRecord
from lookahead_cli.decoding.draft import ROOT, Draft, VerifiedStep
from lookahead_cli.decoding.drafters import Drafter, Outcome
from lookahead_cli.decoding.growth import Foresight, Grower
from lookahead_cli.decoding.hit_rates import HitRates
from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens
from lookahead_cli.decoding.noise_foresight import NoiseForesight
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.window_branch import WindowBranch


class Lookahead:
    """Grows a tree from what all drafters know, verifies as much of it as its cost is worth, and learns from it.

    One object may serve many generations: what it learned stays.
    """

    wants_prompt_rows = True

    def __init__(
        self,
        drafters: Sequence[Drafter],
        rates: HitRates,
        times: StepTimes,
        sampling: SamplingSettings,
        vocab: int,
        *,
        nodes: int | None,
        window: WindowBranch | None = None,
    ) -> None:
        self.drafters = drafters
        self.rates = rates
        self.nodes = nodes
        """Most nodes of a draft; None: as many as pay."""
        self.window = window
        self.times = times
        self.record = TrackRecord()
        self.foresight: Foresight = NoiseForesight(sampling, vocab) if sampling.temperature else as_expected
        self.grower: Grower | None = None
        self.promises: list[float] = []
        """Of the nodes of the latest draft that come from the grower; those of the window come after them."""
        self.has_run = False

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.grower = None
        for drafter in self.drafters:
            drafter.begin(prompt, likely)
        if self.window is not None:
            self.window.begin(prompt)

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        self.grower = None
        self.promises = []
        if self.window is not None:
            self.window.ends = []
        if room.depth < 1:
            return Draft()
        most = MOST_NODES if self.nodes is None else self.nodes
        extra = self.window.nodes if self.window is not None else 0
        branching = room.branching(most + extra)
        if isinstance(self.foresight, NoiseForesight):
            self.foresight.position = len(committed)
        grower = self.grower = Grower(
            self.drafters, self.rates, committed,
            most_depth=room.depth, branching=branching, foresight=self.foresight, seats=room.seats(),
        )  # fmt: skip
        if self.nodes is None:
            tree = grower.tree.first(self._grow_while_it_pays(grower), room.seats())
        else:
            tree = grower.tree
            while grower.queue and len(tree) < self.nodes:
                grower.grow()
        self.promises = list(tree.promise)
        if self.window is not None and branching:
            self.window.add_to(tree, room.depth)
        return tree.draft()

    def _grow_while_it_pays(self, grower: Grower) -> int:
        """Grow the tree beyond the best size and return that size: the one with most expected tokens per second."""
        if self.has_run and not self.times.knows_plain_steps:
            return 0
        curve = self.times.curve
        confidence = self.record.confidence
        tokens = 1.0
        best, best_rate = 0, tokens / curve[0]
        while grower.queue and len(grower.tree) < MOST_NODES:
            nodes = len(grower.tree)
            # However many nodes are added, none of them promises more than the next.
            gain = confidence * grower.promise
            if all((tokens + more * gain) / curve[nodes + more] <= best_rate for more in steps_from(nodes)):
                break
            tokens += gain
            grower.grow()
            if tokens / curve[nodes + 1] > best_rate:
                best, best_rate = nodes + 1, tokens / curve[nodes + 1]
        return best

    def observe(self, step: VerifiedStep) -> None:
        started = perf_counter()
        likely = likely_tokens(step.logits)
        outcome = Outcome(step.committed, step.position, step.draft, step.path, likely, step.logits)
        if self.grower is not None:
            for node, token in zip((ROOT, *step.path), step.committed[step.position :], strict=True):
                assessment = self.grower.assessments.get(node) if node < len(self.promises) else None
                if assessment is not None:
                    self.rates.learn(assessment, token)
        self.record.add(sum(self.promises), sum(node < len(self.promises) for node in step.path))
        for drafter in self.drafters:
            drafter.learn(outcome)
        if self.window is not None:
            self.window.learn(outcome)
        if self.has_run:  # the first pass of a process is slower than all others
            self.times.add(len(step.draft), step.seconds + perf_counter() - started)
        self.has_run = True


def as_expected(probabilities: dict[int, float], depth: int) -> dict[int, float]:
    """Greedy decoding: nothing is known beforehand about how the choice will be made."""
    return probabilities


def steps_from(nodes: int) -> list[int]:
    """Numbers of nodes to look ahead by, doubling, up to the largest tree."""
    steps, step = [], 1
    while nodes + step <= MOST_NODES:
        steps.append(step)
        step *= 2
    return steps
