"""Runs that nobody decoded."""

from __future__ import annotations

from hypothesis import strategies as st

from lookahead_cli.bench.contest import Run
from lookahead_cli.decoding.statistics import DrafterCounts, Statistics


def made_run(
    contestant: str, prompt: int = 0, *, round: int = 0, category: str = "a", tokens: int = 8, steps: int = 8,
    seconds: float = 1.0, drafted: int = 0,
) -> Run:  # fmt: skip
    accepted = tokens - steps
    return Run(
        contestant, prompt, category, round, tuple(range(tokens)), "length", None,
        Statistics(
            tokens=tokens, steps=steps, drafters={"copies": DrafterCounts(drafted, accepted)} if drafted else {},
            decode_seconds=seconds, forward_seconds=0.75 * seconds, draft_seconds=0.125 * seconds,
            select_seconds=0.0625 * seconds, tested_at=[steps] if drafted else [],
            accepted_at=[accepted] if drafted else [],
        ),
    )  # fmt: skip


SECONDS = st.floats(0.001, 1000)


@st.composite
def statistics(draw: st.DrawFn) -> Statistics:
    """Some of a generation with at least one token."""
    steps = draw(st.integers(1, 50))
    parts = [draw(SECONDS) for _ in range(4)]
    return Statistics(
        tokens=steps + draw(st.integers(0, 50)), steps=steps, decode_seconds=sum(parts), forward_seconds=parts[0],
        draft_seconds=parts[1], select_seconds=parts[2],
    )  # fmt: skip
