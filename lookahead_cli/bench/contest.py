"""Measuring strategies against each other: the same prompts, the same weights, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lookahead_cli.bench.prompts import BenchPrompt
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.errors import ProfileError, PromptError
from lookahead_cli.layers import with_values
from lookahead_cli.profile import Settings, nearest
from lookahead_cli.session import Generation, Session


@dataclass
class Tally:
    """Sums over prompts."""

    prompts: int = 0
    same: int = 0
    """Prompts with exactly the tokens of the first contestant."""
    statistics: Statistics = field(default_factory=Statistics)

    def add(self, generation: Generation, same: bool) -> None:
        self.prompts += 1
        self.same += same
        self.statistics.include(generation.statistics)


@dataclass
class Contestant:
    """A strategy with its settings, and what it achieved."""

    name: str
    session: Session
    overall: Tally = field(default_factory=Tally)
    categories: dict[str, Tally] = field(default_factory=dict)


def contestant_settings(name: str, settings: Settings) -> Settings:
    """`settings` with a strategy, and perhaps other keys: "lookahead", "jacobi:k=4", "lookahead:k=16,drafters=copies".

    Names of drafters are joined with "+".

    Raises:
        ProfileError: something in it is not allowed.
    """
    strategy, _, rest = name.partition(":")
    if strategy not in STRATEGIES:
        raise ProfileError(
            f'option --with: "{strategy}" is no strategy{nearest(strategy, STRATEGIES)}; '
            f"there are {', '.join(STRATEGIES)}"
        )
    values = {"strategy": strategy}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ProfileError(f'option --with {name}: "{part}" is no setting; write it as key=value')
        if key.strip() in values:
            raise ProfileError(f"option --with {name}: {key.strip()} is set already; leave one of them out")
        values[key.strip()] = value.strip().replace("+", ",")
    return with_values(settings, values, f"option --with {name}")


def enter(session: Session, names: Sequence[str], settings: Settings) -> list[Contestant]:
    """Contestants that share the model and the seed of `session`. `settings` are those that were asked for.

    Raises:
        ProfileError: a name or a setting is not allowed.
    """
    seed = {"seed": session.settings.decoding.seed}
    settings = settings.model_copy(update={"decoding": settings.decoding.model_copy(update=seed)})
    return [Contestant(name, session.with_decoding(contestant_settings(name, settings).decoding)) for name in names]


def compete(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], *, fresh: bool) -> Iterator[int]:
    """Decode every prompt with every contestant in turn; yields the number of prompts done.

    With `fresh` a contestant starts each prompt with what a new process knows, otherwise with all it has learned.
    """
    for done, prompt in enumerate(prompts, start=1):
        generations = []
        for contestant in contestants:
            if fresh:
                contestant.session.strategy = None
            try:
                generation = contestant.session.generate(prompt.text)
            except PromptError as error:
                raise PromptError(f"{prompt.place}: {error}") from None
            for _ in generation:
                pass
            generations.append(generation)
        # Counted together, so that whatever ends the contest all have been given the same prompts.
        for contestant, generation in zip(contestants, generations, strict=True):
            same = generation.token_ids == generations[0].token_ids
            for tally in (contestant.overall, contestant.categories.setdefault(prompt.category, Tally())):
                tally.add(generation, same)
        yield done


def warm_up(contestants: Sequence[Contestant], prompt: BenchPrompt, tokens: int) -> None:
    """A few tokens with each contestant, not counted: first passes are slower than all others."""
    for contestant in contestants:
        session = contestant.session
        decoding = session.settings.decoding
        short = session.with_decoding(decoding.model_copy(update={"max_new_tokens": tokens}))
        for _ in short.generate(prompt.text):
            pass
