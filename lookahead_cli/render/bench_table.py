"""What a contest came to, as tables or as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lookahead_cli.bench.tally import SpeedUps
from lookahead_cli.bench.where_time_goes import where_time_goes
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.quartiles import Quartiles
    from lookahead_cli.bench.tally import Standing, Tally
    from lookahead_cli.decoding.statistics import Statistics

NARROWEST_NAME = 12
"""Columns for a strategy's name where all others leave little room; it is broken over lines then."""


def bench_tables(
    contestants: Sequence[Contestant], standings: Mapping[str, Standing], spreads: Mapping[str, SpeedUps]
) -> list[Table]:
    """Everything there is to say about a contest."""
    tables = [overall_table(contestants, standings, spreads)]
    if any(contestant.reference for contestant in contestants):
        tables.append(time_table(contestants, standings))
    if len(standings[contestants[0].name].categories) > 1:
        tables.append(category_table(contestants, standings, spreads))
    return tables


def overall_table(
    contestants: Sequence[Contestant],
    standings: Mapping[str, Standing],
    spreads: Mapping[str, SpeedUps] | None = None,
) -> Table:
    """A line for each contestant; ratios are to the one it is held against. If the spread of the speed over the runs is
    known, it takes the place of the overhead, which is in the table of times then."""
    first = standings[contestants[0].name].overall
    table = bench_table(told_runs(first))
    headings = ["tokens\n/step", "drafted\n/step", "accepted", "tokens\n/s", "speed"]
    headings += ["over-\nhead"] if spreads is None else ["median", "quartiles"]
    for heading in [*headings, "same\ntokens"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for contestant in contestants:
        tally = standings[contestant.name].overall
        reference = standings[contestant.held_against.name].overall
        overhead = percentage(tally.statistics.overhead)
        table.add_row(
            visible(contestant.name),
            f"{tally.statistics.tokens_per_step:.2f}",
            f"{tally.statistics.drafted_per_step:.1f}",
            percentage(tally.statistics.acceptance_rate),
            f"{tally.statistics.tokens_per_second:.1f}",
            f"{tally.statistics.speed_over(reference.statistics):.2f}x",
            *([overhead] if spreads is None else told_spread(contestant, spreads)),
            f"{tally.same}/{tally.runs}",
        )
    return table


def percentage(part: float | None) -> str:
    """Nothing where it is not known."""
    return "" if part is None else f"{part:.1%}"


def bench_table(title: str) -> Table:
    """An empty table with a column for names, which gives way where there is little room."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0)
    table.add_column("strategy", overflow="fold", min_width=NARROWEST_NAME)
    return table


def told_runs(tally: Tally) -> str:
    """How much was measured."""
    prompts = len(tally.prompts)
    counted = f"{prompts} prompt{'s' if prompts > 1 else ''}"
    return counted if tally.runs == prompts else f"{counted}, {tally.runs} runs each"


def told_spread(
    contestant: Contestant, spreads: Mapping[str, SpeedUps], category: str | None = None
) -> tuple[str, str]:
    """Median, then quartiles; nothing for a reference, which is as fast as itself."""
    own = spreads[contestant.name]
    spread = own.overall if category is None else own.categories.get(category)
    if contestant.reference is None:
        spread = None
    return ("", "") if spread is None else (f"{spread.median:.2f}x", f"{spread.low:.2f}-{spread.high:.2f}")


def time_table(contestants: Sequence[Contestant], standings: Mapping[str, Standing]) -> Table:
    """Theory beside practice, a line for each contestant that is held against another."""
    table = bench_table("where the time goes (a step of the reference is 1)")
    for heading in ("ideal\nspeed", "measured\nspeed", "a step\ncosts", "wider\npass", "draft-\ning", "select-\ning",
                    "rest"):  # fmt: skip
        table.add_column(heading, justify="right", no_wrap=True)
    for contestant in contestants:
        split = where_time_goes(*statistics_of(contestant, standings))
        if contestant.reference is None or split is None:
            continue
        parts = (split.wider_pass, split.drafting, split.selecting, split.rest)
        table.add_row(
            visible(contestant.name), f"{split.ideal:.2f}x", f"{split.measured:.2f}x", f"{split.step_cost:.2f}",
            *("" if part is None else f"{part:+.2f}" for part in parts),
        )  # fmt: skip
    return table


def category_table(
    contestants: Sequence[Contestant],
    standings: Mapping[str, Standing],
    spreads: Mapping[str, SpeedUps] | None = None,
) -> Table:
    """Tokens per step and speed in each category, a line for each contestant."""
    table = Table(title="by category", title_justify="left", box=SIMPLE_HEAD, padding=0)
    table.add_column("category", overflow="fold", min_width=NARROWEST_NAME)
    table.add_column("strategy", overflow="fold", min_width=NARROWEST_NAME)
    for heading in ("tokens\n/step", "speed", *(("median", "quartiles") if spreads is not None else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    for category in standings[contestants[0].name].categories:
        for contestant in contestants:
            tally = standings[contestant.name].categories[category]
            reference = standings[contestant.held_against.name].categories[category]
            table.add_row(
                visible(category) if contestant is contestants[0] else "",
                visible(contestant.name),
                f"{tally.statistics.tokens_per_step:.2f}",
                f"{tally.statistics.speed_over(reference.statistics):.2f}x",
                *(() if spreads is None else told_spread(contestant, spreads, category)),
                end_section=contestant is contestants[-1] and len(contestants) > 1,
            )
    return table


def bench_object(
    contestants: Sequence[Contestant],
    standings: Mapping[str, Standing],
    spreads: Mapping[str, SpeedUps] | None = None,
) -> dict[str, Any]:
    """The same as plain dicts, lists and numbers; seconds of wall time. Keys may be added, none changes or goes."""
    entries = []
    for contestant in contestants:
        own, reference = standings[contestant.name], standings[contestant.held_against.name]
        spread = SpeedUps(None, {}) if spreads is None else spreads[contestant.name]
        categories = {
            category: numbers(tally, reference.categories[category], spread.categories.get(category))
            for category, tally in own.categories.items()
        }
        entries.append(
            {
                "name": contestant.name,
                "reference": contestant.held_against.name,
                **numbers(own.overall, reference.overall, spread.overall),
                "acceptance_by_depth": own.overall.statistics.acceptance_by_depth,
                "categories": categories,
            }
        )
    return {"strategies": entries}


def numbers(tally: Tally, reference: Tally, spread: Quartiles | None) -> dict[str, Any]:
    """All that is known of a contestant, overall or in one category."""
    split = where_time_goes(tally.statistics, reference.statistics)
    return {
        "prompts": len(tally.prompts),
        "runs": tally.runs,
        "tokens": tally.statistics.tokens,
        "steps": tally.statistics.steps,
        "tokens_per_step": tally.statistics.tokens_per_step,
        "drafted_per_step": tally.statistics.drafted_per_step,
        "acceptance_rate": tally.statistics.acceptance_rate,
        "decode_seconds": tally.statistics.decode_seconds,
        "forward_seconds": tally.statistics.forward_seconds,
        "draft_seconds": tally.statistics.draft_seconds,
        "select_seconds": tally.statistics.select_seconds,
        "tokens_per_second": tally.statistics.tokens_per_second,
        "speed": tally.statistics.speed_over(reference.statistics),
        "speed_spread": None if spread is None else asdict(spread),
        "where_time_goes": None if split is None else asdict(split),
        "overhead": tally.statistics.overhead,
        "same_tokens": tally.same,
    }


def statistics_of(contestant: Contestant, standings: Mapping[str, Standing]) -> tuple[Statistics, Statistics]:
    """A contestant's own, and those of its reference."""
    return standings[contestant.name].overall.statistics, standings[contestant.held_against.name].overall.statistics
