"""A few seconds of decoding: how fast the model is here, and what guessing brings."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from lookahead_cli.bench.race import race
from lookahead_cli.bench.step_times import measure_steps
from lookahead_cli.decoding.strategies import PLAIN
from lookahead_cli.profile import DecodingSettings, PromptSettings, Settings
from lookahead_cli.session import open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.models.progress import Progress
    from lookahead_cli.session import Session

PROMPT = (
    "Write a Python class for a bank account with methods to deposit, to withdraw and to show the balance, and then "
    "explain each method in one sentence."
)
GUESSING = "lookahead"
MOST_TOKENS = 128
WARM_UP_TOKENS = 4
WARM_UP_SECONDS = 1.0
DECODE_SECONDS = 3.0
"""For each strategy; reading the prompt and loading the model are not counted."""
MOST_SECONDS = 9.0
"""For all of that. On a machine that is slower nothing new is begun after it."""
PASS_SECONDS = 1.5
"""For forward passes by their rows."""
ROWS = (1, 8)
MILLISECONDS = 1000


@dataclass(frozen=True)
class Run:
    """One strategy's continuation of the prompt."""

    tokens: int
    tokens_per_second: float
    tokens_per_step: float


@dataclass(frozen=True)
class Speed:
    prompt_tokens: int
    loading_seconds: float
    prompt_tokens_per_second: float
    greedy: Run
    lookahead: Run | None
    """None where guesses cannot be taken back."""
    same_tokens: bool
    """Whether both said the same, as far as both got."""
    pass_milliseconds: dict[int, float]
    """By rows; the median of some passes."""
    four_bits: bool
    """Whether layers run on weights of 4 bits."""


def open_for_measuring(settings: Settings, progress: Progress) -> tuple[Session, float]:
    """The model of the settings with plain decoding, and the seconds it took to load.

    Raises:
        LookaheadError: it cannot be loaded.
    """
    plain = DecodingSettings(strategy=PLAIN, max_new_tokens=MOST_TOKENS)
    started = perf_counter()
    session = open_session(settings.model_copy(update={"decoding": plain, "prompt": PromptSettings()}), progress)
    return session, perf_counter() - started


def measure_speed(session: Session, loading_seconds: float, progress: Progress) -> Speed:
    """Decode with and without guesses by turns, so that both have the same machine, and time passes.

    Raises:
        LookaheadError: the model fails at its work, or has no room for the prompt.
    """
    progress("measuring the speed")
    ends_at = perf_counter() + MOST_SECONDS
    warm_at = perf_counter() + WARM_UP_SECONDS
    for _ in session.limited(WARM_UP_TOKENS).generate(PROMPT):
        if perf_counter() > warm_at:
            break
    names = [PLAIN] if session.runner.rewind_obstacle else [PLAIN, GUESSING]
    greedy, *others = decoded(session, names, ends_at)
    guessing = others[0] if others else None
    common = min(len(greedy.token_ids), len(guessing.token_ids) if guessing else 0)
    return Speed(
        prompt_tokens=len(greedy.prompt_ids),
        loading_seconds=loading_seconds,
        prompt_tokens_per_second=greedy.statistics.prefill_tokens_per_second,
        greedy=told(greedy),
        lookahead=told(guessing) if guessing else None,
        same_tokens=guessing is None or greedy.token_ids[:common] == guessing.token_ids[:common],
        pass_milliseconds=timed_passes(session) if perf_counter() < ends_at else {},
        four_bits=runs_four_bits(session),
    )


def decoded(session: Session, strategies: Sequence[str], ends_at: float) -> list[Generation]:
    """A continuation of the prompt by each of the strategies, cut off when the time is over."""
    decoding = session.settings.decoding
    sessions = [session.beside(decoding.model_copy(update={"strategy": strategy})) for strategy in strategies]
    generations = [each.generate(PROMPT) for each in sessions]
    for _ in race(generations):
        clocks = [each.statistics.decode_seconds for each in generations]
        is_over = sum(clocks) > DECODE_SECONDS * len(strategies) or perf_counter() > ends_at
        if is_over and all(clocks):  # a machine on which even a step takes long still gives numbers
            break
    return generations


def told(generation: Generation) -> Run:
    stats = generation.statistics
    return Run(stats.tokens, stats.tokens_per_second, stats.tokens_per_step)


def timed_passes(session: Session) -> dict[int, float]:
    """Milliseconds of a forward pass by its rows, from as many passes as there is time for."""
    deadline = perf_counter() + PASS_SECONDS
    found: dict[int, float] = {}
    for measured in measure_steps(session.runner.twin(), session.loaded.context_length, rows=ROWS):
        found = {rows: measured.spread(rows).median * MILLISECONDS for rows in measured.seconds}
        if perf_counter() > deadline:
            break
    return found


def runs_four_bits(session: Session) -> bool:
    from lookahead_cli.models.lean.runner import LeanRunner

    return isinstance(session.runner, LeanRunner) and session.runner.forward.weights.four_bits
