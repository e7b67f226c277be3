"""The runs of a contest as rows for a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lookahead_cli.bench.contest import Run
from lookahead_cli.bench.tally import speed_up_of_each
from lookahead_cli.errors import ResourceError
from lookahead_cli.models.whole_file import written_whole


def write_csv(path: Path, runs: Sequence[Run], references: Mapping[str, str]) -> None:
    """A row for each run; `references` tells the name of each contestant's reference.

    Raises:
        ResourceError: it cannot be written.
    """
    rows = list(flat_rows(runs, references))
    try:
        with written_whole(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise ResourceError(f"{path} could not be written: {error.strerror or error}") from None


def flat_rows(runs: Sequence[Run], references: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Column -> value; None where there is none. Times in seconds."""
    for run, speed_up in zip(runs, speed_up_of_each(runs, references), strict=True):
        counts = run.statistics
        yield {
            "round": run.round,
            "prompt": run.prompt,
            "category": run.category,
            "strategy": run.contestant,
            "reference": references[run.contestant],
            "prompt_tokens": counts.prefill_tokens,
            "tokens": counts.tokens,
            "steps": counts.steps,
            "tokens_per_step": counts.tokens_per_step,
            "drafted": counts.drafted,
            "accepted": counts.accepted,
            "acceptance_rate": counts.acceptance_rate,
            "prefill_seconds": counts.prefill_seconds,
            "decode_seconds": counts.decode_seconds,
            "forward_seconds": counts.forward_seconds,
            "draft_seconds": counts.draft_seconds,
            "select_seconds": counts.select_seconds,
            "tokens_per_second": counts.tokens_per_second,
            "speed": speed_up,
            "differs_at": run.differs_at,
            "finish_reason": run.finish_reason,
        }
