"""The lookahead strategy: everything free in one tree, as large as pays."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from lookahead_cli.decoding.budget import MOST_NODES, StepTimes, TrackRecord
from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.drafters import Drafter, Outcome
from lookahead_cli.decoding.growth import Foresight, Grower
from lookahead_cli.decoding.hit_rates import HitRates
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.noise_foresight import NoiseForesight
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.shared_growth import grow_while_it_pays
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep
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
        self.vocab = vocab
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

    def end(self) -> None:
        for drafter in self.drafters:
            drafter.end()

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.grower = None
        for drafter in self.drafters:
            drafter.begin(prompt, likely)
        if self.window is not None:
            self.window.begin(prompt)

    def beside(self, sampling: SamplingSettings) -> Lookahead:
        drafters = [drafter.beside(sampling) for drafter in self.drafters]
        window = None if self.window is None else self.window.beside(sampling)
        rates = self.rates.beside(drafters)
        return Lookahead(drafters, rates, self.times, sampling, self.vocab, nodes=self.nodes, window=window)

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        grower = self.look_ahead(committed, room)
        if grower is None:
            return Draft()
        if self.nodes is not None:
            while grower.queue and len(grower.tree) < self.nodes:
                grower.grow()
            return self.cut(self.nodes, room)
        if self.has_run and not self.times.knows_plain_steps:
            return self.cut(0, room)
        [nodes] = grow_while_it_pays([grower], [self.confidence], self.times.curve, width=0, tokens=1.0)
        return self.cut(nodes, room)

    def look_ahead(self, committed: Sequence[int], room: Room) -> Grower | None:
        """A tree to be grown, and then to be `cut`; None if there is no room for a guess."""
        self.grower = None
        self.promises = []
        if self.window is not None:
            self.window.ends = []
        if room.depth < 1:
            return None
        most = MOST_NODES if self.nodes is None else self.nodes
        extra = self.window.nodes if self.window is not None else 0
        if isinstance(self.foresight, NoiseForesight):
            self.foresight.position = len(committed)
        self.grower = Grower(
            self.drafters, self.rates, committed,
            most_depth=room.depth, branching=room.branching(most + extra), foresight=self.foresight, seats=room.seats(),
        )  # fmt: skip
        return self.grower

    def cut(self, nodes: int, room: Room) -> Draft:
        """The draft: the first `nodes` of what has grown since `look_ahead`, and the window branch behind it."""
        assert self.grower is not None, "a tree has been begun"
        tree = self.grower.tree
        if len(tree) > nodes:
            tree = tree.first(nodes, room.seats())
        self.promises = list(tree.promise)
        if self.window is not None and self.grower.branching:
            self.window.add_to(tree, room.depth)
        return tree.draft()

    @property
    def confidence(self) -> float:
        """What a promise is to be multiplied by."""
        return self.record.confidence

    def observe(self, step: VerifiedStep) -> None:
        started = perf_counter()
        outcome = Outcome(step.committed, step.position, step.draft, step.path, step.likely, step.logits)
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
