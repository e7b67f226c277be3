"""What a race or a contest came to, for each who took part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookahead_cli.bench.contest import Run
from lookahead_cli.bench.contestants import Contestant
from lookahead_cli.bench.difference import Difference, differing_tokens, explain, first_difference
from lookahead_cli.bench.prompts import BenchPrompt
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.session import Session


@dataclass(frozen=True)
class Outcome:
    """A finished generation, held against that of its reference."""

    contestant: Contestant
    generation: Generation
    reference: Generation
    difference: Difference | None

    @property
    def is_reference(self) -> bool:
        return self.generation is self.reference

    @property
    def is_broken_promise(self) -> bool:
        """Whether other tokens came out, and should not have."""
        return self.difference is not None and not self.contestant.exempt

    @property
    def speed(self) -> float:
        """Tokens per second over those of the reference; 0 where there are none."""
        return self.generation.statistics.speed_over(self.reference.statistics)

    @property
    def steps_saved(self) -> int:
        """Fewer forward passes than the reference."""
        return self.reference.statistics.steps - self.generation.statistics.steps


def outcomes(session: Session, contestants: Sequence[Contestant], generations: Sequence[Generation]) -> list[Outcome]:
    """The outcome of each. Of what was cut short only the tokens that both have are compared."""
    by_contestant = dict(zip(map(id, contestants), generations, strict=True))
    found = []
    for contestant, generation in zip(contestants, generations, strict=True):
        reference = by_contestant[id(contestant.held_against)]
        own, expected = generation.token_ids, reference.token_ids
        if generation.finish_reason is None or reference.finish_reason is None:
            own, expected = own[: len(expected)], expected[: len(own)]
        position = first_difference(own, expected)
        difference = None if position is None else explain(session, generation.prompt_ids, own, expected, position)
        found.append(Outcome(contestant, generation, reference, difference))
    return found


@dataclass(frozen=True)
class Deviation:
    """The first prompt of a contest on which somebody's tokens are not those of the reference."""

    contestant: Contestant
    place: str
    """Where the prompt stands: file and line."""
    difference: Difference
    differing: int
    """Places of all outputs together where the tokens are not the same."""
    length: int
    """Tokens of all outputs, of the longer one each time."""

    @property
    def is_broken_promise(self) -> bool:
        """Whether these tokens should have been the reference's."""
        return not self.contestant.exempt


def first_deviations(
    session: Session, contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], runs: Sequence[Run]
) -> list[Deviation]:
    """For every contestant that differs somewhere, where it does so first."""
    by_key = {(run.contestant, run.round, run.prompt): run for run in runs}
    found = []
    for contestant in contestants:
        own = [run for run in runs if run.contestant == contestant.name]
        differing = next((run for run in own if run.differs_at is not None), None)
        if differing is None or differing.differs_at is None:
            continue
        pairs = [(run.token_ids, by_key[contestant.held_against.name, run.round, run.prompt].token_ids) for run in own]
        expected = by_key[contestant.held_against.name, differing.round, differing.prompt]
        prompt = prompts[differing.prompt]
        ids, _ = session.prepare(prompt.text)
        difference = explain(session, ids, differing.token_ids, expected.token_ids, differing.differs_at)
        count = sum(differing_tokens(mine, its) for mine, its in pairs)
        length = sum(max(len(mine), len(its)) for mine, its in pairs)
        found.append(Deviation(contestant, prompt.place, difference, count, length))
    return found
