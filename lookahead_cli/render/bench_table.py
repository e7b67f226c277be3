"""What a contest came to, as tables or as one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.bench.contest import Contestant, Tally


def overall_table(contestants: Sequence[Contestant]) -> Table:
    """A line for each contestant; ratios are to the first one."""
    table = Table(title=f"{contestants[0].overall.prompts} prompts", title_justify="left", box=SIMPLE_HEAD, padding=0)
    table.add_column("strategy", overflow="fold")
    for heading in (
        "tokens\n/step",
        "drafted\n/step",
        "accepted",
        "tokens\n/s",
        "speed",
        "over-\nhead",
        "same\ntokens",
    ):
        table.add_column(heading, justify="right", min_width=len("accepted") if heading == "accepted" else 7)
    first = contestants[0].overall
    for contestant in contestants:
        tally = contestant.overall
        rate = tally.statistics.acceptance_rate
        table.add_row(
            visible(contestant.name),
            f"{tally.statistics.tokens_per_step:.2f}",
            f"{tally.statistics.drafted_per_step:.1f}",
            "" if rate is None else f"{rate:.1%}",
            f"{tally.statistics.tokens_per_second:.1f}",
            f"{speed_ratio(tally, first):.2f}x",
            f"{tally.statistics.overhead:.1%}",
            f"{tally.same}/{tally.prompts}",
        )
    return table


def category_table(contestants: Sequence[Contestant]) -> Table:
    """Tokens per step: a line for each category, a column for each contestant."""
    table = Table(title="tokens per step", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("category")
    for contestant in contestants:
        table.add_column(visible(contestant.name), min_width=6, justify="right", overflow="fold")
    for category in contestants[0].categories:
        numbers = [contestant.categories[category].statistics.tokens_per_step for contestant in contestants]
        table.add_row(visible(category), *(f"{number:.2f}" for number in numbers))
    return table


def bench_object(contestants: Sequence[Contestant]) -> dict[str, Any]:
    """The same as plain dicts, lists and numbers; seconds of wall time."""
    first = contestants[0].overall
    return {
        "strategies": [
            {
                "name": contestant.name,
                **numbers(contestant.overall, first),
                "categories": {
                    category: numbers(tally, contestants[0].categories[category])
                    for category, tally in contestant.categories.items()
                },
            }
            for contestant in contestants
        ]
    }


def numbers(tally: Tally, first: Tally) -> dict[str, Any]:
    """All that is known of a contestant, overall or in one category."""
    return {
        "prompts": tally.prompts,
        "tokens": tally.statistics.tokens,
        "steps": tally.statistics.steps,
        "tokens_per_step": tally.statistics.tokens_per_step,
        "drafted_per_step": tally.statistics.drafted_per_step,
        "acceptance_rate": tally.statistics.acceptance_rate,
        "decode_seconds": tally.statistics.decode_seconds,
        "tokens_per_second": tally.statistics.tokens_per_second,
        "speed": speed_ratio(tally, first),
        "overhead": tally.statistics.overhead,
        "same_tokens": tally.same,
    }


def speed_ratio(tally: Tally, first: Tally) -> float:
    """Tokens per second over those of the first contestant."""
    reference = first.statistics.tokens_per_second
    return tally.statistics.tokens_per_second / reference if reference else 0.0
