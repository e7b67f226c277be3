"""How long a forward pass takes by its number of rows, as a table or as one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:
    from lookahead_cli.bench.step_times import MeasuredSteps
    from lookahead_cli.profile import ModelSettings

MILLISECONDS = 1000


def about_step_times(measured: MeasuredSteps, model: ModelSettings) -> str:
    """What was measured. `model` is settled: nothing in it is left open."""
    return (
        f"time of a forward pass: {model.runner} runner, {model.dtype}, {model.device}, threads: {model.threads}\n"
        f"text of {measured.text_tokens} tokens, {measured.repeats} repeats"
    )


def step_times_table(measured: MeasuredSteps, model: ModelSettings) -> Table:
    """A line for each number of rows."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("rows", "ms", "quartiles", "to 1 row"):
        table.add_column(heading, justify="right")
    for line in step_times_object(measured, model)["rows"]:
        table.add_row(
            str(line["rows"]),
            f"{line['milliseconds']:.2f}",
            f"{line['spread']['low']:.2f}-{line['spread']['high']:.2f}",
            f"{line['relative']:.2f}x",
        )
    return table


def step_times_object(measured: MeasuredSteps, model: ModelSettings) -> dict[str, Any]:
    """The same as plain dicts, lists and numbers."""
    one_row = measured.spread(1).median
    lines = []
    for rows in measured.seconds:
        spread = measured.spread(rows)
        lines.append(
            {
                "rows": rows,
                "milliseconds": spread.median * MILLISECONDS,
                "spread": {"low": spread.low * MILLISECONDS, "high": spread.high * MILLISECONDS},
                "relative": spread.median / one_row,
            }
        )
    return {
        "runner": model.runner,
        "dtype": model.dtype,
        "device": model.device,
        "threads": model.threads,
        "text_tokens": measured.text_tokens,
        "repeats": measured.repeats,
        "rows": lines,
    }
