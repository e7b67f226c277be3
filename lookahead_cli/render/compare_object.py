"""A comparison as one JSON object. Its shape is a promise: keys may be added, none changes or goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lookahead_cli.render.bench_table import bench_object
from lookahead_cli.render.json_object import statistics_object

if TYPE_CHECKING:
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.outcome import Deviation, Outcome
    from lookahead_cli.bench.tally import Standing
    from lookahead_cli.render import CutShort


def compare_object(outcomes: Sequence[Outcome], cut_short: CutShort) -> dict[str, Any]:
    """Plain dicts, lists, strings, numbers, booleans and None; seconds of wall time. `cut_short` is the reason of those
    that did not come to an end."""
    return {
        "identical": not any(outcome.is_broken_promise for outcome in outcomes),
        "prompt_tokens": len(outcomes[0].generation.prompt_ids),
        "strategies": [
            {
                "name": outcome.contestant.name,
                "text": outcome.generation.text,
                "token_ids": outcome.generation.token_ids,
                "provenance": [source for step in outcome.generation.steps for source in step.provenance],
                "finish_reason": outcome.generation.finish_reason or cut_short,
                "reference": outcome.contestant.held_against.name,
                "same_tokens": outcome.difference is None,
                "may_differ": outcome.contestant.exempt or None,
                "difference": None if outcome.difference is None else asdict(outcome.difference),
                "speed": outcome.speed,
                "steps_saved": outcome.steps_saved,
                "stats": statistics_object(outcome.generation.statistics),
            }
            for outcome in outcomes
        ],
    }


def contest_object(
    contestants: Sequence[Contestant], standings: Mapping[str, Standing], deviations: Sequence[Deviation]
) -> dict[str, Any]:
    """The same for many prompts: sums, and of each contestant the first difference."""
    entries: list[dict[str, Any]] = bench_object(contestants, standings)["strategies"]
    by_name = {deviation.contestant.name: deviation for deviation in deviations}
    for contestant, entry in zip(contestants, entries, strict=True):
        deviation = by_name.get(contestant.name)
        entry["may_differ"] = contestant.exempt or None
        entry["difference"] = deviation and {"prompt": deviation.place, **asdict(deviation.difference)}
        entry["differing_tokens"] = deviation.differing if deviation else 0
    broken = any(deviation.is_broken_promise for deviation in deviations)
    return {"identical": not broken, "strategies": entries}
