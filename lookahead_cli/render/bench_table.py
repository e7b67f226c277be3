"""What a contest came to, as tables or as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.tally import Standing, Tally


def overall_table(contestants: Sequence[Contestant], standings: Mapping[str, Standing]) -> Table:
    """A line for each contestant; ratios are to the one it is held against."""
    table = Table(
        title=f"{standings[contestants[0].name].overall.runs} prompts", title_justify="left", box=SIMPLE_HEAD, padding=0
    )
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
    for contestant in contestants:
        tally = standings[contestant.name].overall
        reference = standings[contestant.held_against.name].overall
        rate = tally.statistics.acceptance_rate
        table.add_row(
            visible(contestant.name),
            f"{tally.statistics.tokens_per_step:.2f}",
            f"{tally.statistics.drafted_per_step:.1f}",
            "" if rate is None else f"{rate:.1%}",
            f"{tally.statistics.tokens_per_second:.1f}",
            f"{speed_ratio(tally, reference):.2f}x",
            f"{tally.statistics.overhead:.1%}",
            f"{tally.same}/{tally.runs}",
        )
    return table


def category_table(contestants: Sequence[Contestant], standings: Mapping[str, Standing]) -> Table:
    """Tokens per step: a line for each category, a column for each contestant."""
    table = Table(title="tokens per step", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("category")
    for contestant in contestants:
        table.add_column(visible(contestant.name), min_width=6, justify="right", overflow="fold")
    for category in standings[contestants[0].name].categories:
        tallies = [standings[contestant.name].categories[category] for contestant in contestants]
        table.add_row(visible(category), *(f"{tally.statistics.tokens_per_step:.2f}" for tally in tallies))
    return table


def bench_object(contestants: Sequence[Contestant], standings: Mapping[str, Standing]) -> dict[str, Any]:
    """The same as plain dicts, lists and numbers; seconds of wall time."""
    entries = []
    for contestant in contestants:
        own, reference = standings[contestant.name], standings[contestant.held_against.name]
        categories = {
            category: numbers(tally, reference.categories[category]) for category, tally in own.categories.items()
        }
        entries.append({"name": contestant.name, **numbers(own.overall, reference.overall), "categories": categories})
    return {"strategies": entries}


def numbers(tally: Tally, reference: Tally) -> dict[str, Any]:
    """All that is known of a contestant, overall or in one category."""
    return {
        "prompts": tally.runs,
        "tokens": tally.statistics.tokens,
        "steps": tally.statistics.steps,
        "tokens_per_step": tally.statistics.tokens_per_step,
        "drafted_per_step": tally.statistics.drafted_per_step,
        "acceptance_rate": tally.statistics.acceptance_rate,
        "decode_seconds": tally.statistics.decode_seconds,
        "tokens_per_second": tally.statistics.tokens_per_second,
        "speed": speed_ratio(tally, reference),
        "overhead": tally.statistics.overhead,
        "same_tokens": tally.same,
    }


def speed_ratio(tally: Tally, reference: Tally) -> float:
    """Tokens per second over those of the reference."""
    slower = reference.statistics.tokens_per_second
    return tally.statistics.tokens_per_second / slower if slower else 0.0
