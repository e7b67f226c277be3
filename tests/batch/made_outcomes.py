"""Outcomes as a run would give them, and a run that gives them in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lookahead_cli.batch.output import Output, OutputWanted, open_output
from lookahead_cli.batch.results import Failure, Outcome, Result

SETTINGS: dict[str, Any] = {"decoding": {"seed": 7, "stop": ["a"]}}


def made_result(number: int, id: str | None = None, **more: Any) -> Result:
    id = f"id-{number}" if id is None else id
    values: dict[str, Any] = {
        "text": f"Grüße {number}\n",
        "finish_reason": "eos",
        "prompt_tokens": 5,
        "token_ids": (1, 2, 3, 4),
        "provenance": ("model", "copies", "copies", "model"),
        "steps": 3,
        "seconds": 0.12345,
        "seed": None,
    }
    return Result(number=number, id=id, **{**values, **more})


def made_failure(number: int, id: str | None = None, **more: Any) -> Failure:
    id = f"id-{number}" if id is None else id
    values = {"place": f"a.jsonl, line {number + 1}", "line": number + 1, "reason": "too long"}
    return Failure(number=number, id=id, **{**values, **more})


def run(
    wanted: OutputWanted,
    outcomes: Sequence[Outcome],
    order: Sequence[int] | None = None,
    *,
    writes: int | None = None,
    settings: dict[str, Any] = SETTINGS,
) -> int:
    """Finish these outcomes in the order of `order`, ended after so many writes. Returns how many were written."""
    with open_output(wanted, settings) as output:
        unknown = set(read_all(output, outcomes))
        numbers = [number for number in (range(len(outcomes)) if order is None else order) if number in unknown]
        for number in numbers[:writes]:
            output.write(outcomes[number])
        if len(numbers[:writes]) == len(unknown):
            output.finish()
        return len(numbers[:writes])


def read_all(output: Output, outcomes: Sequence[Outcome]) -> list[int]:
    """Let the output know of all records. The numbers of those that are to be answered."""
    unknown = []
    for outcome in outcomes:
        output.expect(outcome.number)
        if output.known(outcome.id):
            output.skip(outcome.number, outcome.id)
        else:
            unknown.append(outcome.number)
    return unknown
