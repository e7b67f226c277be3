"""How long a forward pass takes by its number of rows: the curve T(n) of the runner in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from lookahead_cli.bench.quartiles import Quartiles, quartiles
from lookahead_cli.models.runner import Runner

ROWS = (1, 2, 4, 8, 16, 32, 64)
TEXT_TOKENS = 256
"""Length of the text at which passes are timed: a pass takes longer the longer the text."""
REPEATS = 9
WARM_UP_REPEATS = 1
"""First passes of a width are slower than all others."""
STRIDE = 7919
"""Between the token ids of the text: they are to vary, which ones they are does not matter."""


@dataclass(frozen=True)
class MeasuredSteps:
    """Forward passes timed."""

    text_tokens: int
    """Tokens of the text at that time, the pending one included."""
    seconds: dict[int, list[float]]
    """By number of rows: one of them for the pending token, the others for guesses."""

    @property
    def repeats(self) -> int:
        return min(map(len, self.seconds.values()))

    def spread(self, rows: int) -> Quartiles:
        """Seconds of a pass over so many rows."""
        return quartiles(self.seconds[rows])


def measure_steps(
    runner: Runner, context_length: int, repeats: int = REPEATS, rows: Sequence[int] = ROWS
) -> Iterator[MeasuredSteps]:
    """Time passes of all widths by turns; yields what there is after each repeat. Takes the runner's cache.

    Widths are numbers of `rows`. They alternate and their order is turned around each time, so that a machine that
    gets slower does so for all of them. In a short context the text is shorter, and widths that do not fit are left
    out.
    """
    text_tokens = max(1, min(TEXT_TOKENS, context_length - max(rows) + 1))
    ids = [number * STRIDE % runner.vocab for number in range(text_tokens)]
    possible = widths(runner, rows, context_length - text_tokens + 1)
    found = MeasuredSteps(text_tokens, {width: [] for width in possible})
    runner.prefill(ids[:-1])
    for number in range(WARM_UP_REPEATS + repeats):
        for width in list(found.seconds)[:: 1 if number % 2 == 0 else -1]:
            seconds = time_step(runner, ids[-1], width)
            if number >= WARM_UP_REPEATS:
                found.seconds[width].append(seconds)
        if number >= WARM_UP_REPEATS:
            yield found


def widths(runner: Runner, wanted: Sequence[int], most: int) -> list[int]:
    """Numbers of rows that can be measured. Where guesses cannot be taken back there is only one row."""
    return [rows for rows in wanted if rows <= most and (rows == 1 or not runner.rewind_obstacle)]


def time_step(runner: Runner, pending: int, rows: int) -> float:
    """Seconds of one pass over a chain; afterwards the cache is as before (one token longer if nothing can be taken
    back, which makes no difference to such models)."""
    started = perf_counter()
    logits = runner.step(pending, [pending] * (rows - 1), range(-1, rows - 2))  # (rows, vocab)
    logits[-1, -1].item()  # a device that computes on while the program goes on is waited for
    seconds = perf_counter() - started
    runner.commit([])
    if not runner.rewind_obstacle:
        runner.forget(1)
    return seconds
