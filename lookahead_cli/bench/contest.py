"""A contest: the same prompts, the same weights, one contestant after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from lookahead_cli.bench.contestants import Contestant, Entrant
from lookahead_cli.bench.difference import first_difference
from lookahead_cli.bench.prompts import BenchPrompt
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.errors import PromptError

WARM_UP_TOKENS, WARM_UP_CHARACTERS = 8, 400


@dataclass(frozen=True)
class Run:
    """One prompt, decoded once by one contestant."""

    contestant: str
    prompt: int
    """Its number among the prompts of the contest, from 0."""
    category: str
    round: int
    """Which repetition of the contest it belongs to, from 0."""
    token_ids: tuple[int, ...]
    finish_reason: str
    differs_at: int | None
    """First place in the output where the token is another than the reference's; None: all are the same."""
    statistics: Statistics


def compete(
    contestants: Sequence[Contestant],
    prompts: Sequence[BenchPrompt],
    *,
    rounds: int = 1,
    fresh: bool = False,
    done: Collection[tuple[int, int]] = (),
) -> Iterator[list[Run]]:
    """Decode every prompt with every contestant, one after the other; yields the runs of a prompt, in order.

    Whoever was first is last for the next prompt, as a machine gets slower and faster in the long run. A round begins
    with what a new process knows; with `fresh` every prompt does. `done` are (round, prompt) to be left out.

    Raises:
        PromptError: a prompt leaves no room in the context; the message says which.
    """
    for number in range(rounds):
        for contestant in contestants:
            contestant.entrant.start_afresh()
        for place, prompt in enumerate(prompts):
            if (number, place) in done:
                continue
            generations: dict[str, Generation] = {}
            first = (number + place) % len(contestants)
            for contestant in [*contestants[first:], *contestants[:first]]:
                if fresh:
                    contestant.entrant.start_afresh()
                generations[contestant.name] = decoded(contestant.entrant, prompt)
            yield [judged(contestant, generations, place, prompt.category, number) for contestant in contestants]


def decoded(entrant: Entrant, prompt: BenchPrompt) -> Generation:
    """A whole generation."""
    try:
        generation = entrant.generate(prompt.text)
    except PromptError as error:
        raise PromptError(f"{prompt.place}: {error}" if prompt.place else str(error)) from None
    for _ in generation:
        pass
    return generation


def judged(contestant: Contestant, generations: dict[str, Generation], place: int, category: str, number: int) -> Run:
    """What came of a finished generation, held against that of its reference."""
    generation = generations[contestant.name]
    expected = generations[contestant.held_against.name].token_ids
    return Run(
        contestant=contestant.name,
        prompt=place,
        category=category,
        round=number,
        token_ids=tuple(generation.token_ids),
        finish_reason=generation.finish_reason or "",
        differs_at=first_difference(generation.token_ids, expected),
        statistics=generation.statistics,
    )


def warm_up(contestants: Sequence[Contestant], prompt: BenchPrompt) -> None:
    """A few tokens after the beginning of `prompt` with each contestant, not counted: first passes are slower than all
    others. A prompt that leaves no room is left to the contest, which knows all of it and where it stands."""
    beginning = replace(prompt, text=prompt.text[:WARM_UP_CHARACTERS])
    with suppress(PromptError):
        for contestant in contestants:
            decoded(contestant.entrant.limited(WARM_UP_TOKENS), beginning)
