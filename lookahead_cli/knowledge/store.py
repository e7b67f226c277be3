"""What is known about a model, kept between runs in its knowledge folder (see `folder.py`).

Only what is derived from the model alone, and numbers: nothing of any prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookahead_cli.decoding.prior_knowledge import PriorKnowledge
from lookahead_cli.knowledge.blend import blended
from lookahead_cli.knowledge.table import load_table, table_file
from lookahead_cli.models.whole_file import written_whole

SHIPPED_RATES = Path(__file__).with_name("starting_rates.json")
"""Rates and weights learned on Spec-Bench prompts with SmolLM2-135M: a start, for any model."""
PARTS = ("rates", "silent", "weights")
"""What `HitRates.export` gives."""
TIMES = "times"
"""Beside them: what `StepTimes.export` gives, by machine."""
RATES_FORMAT = 1
"""Part of the file's name: raise it when kinds change their meaning, and old rates are learned anew."""


def known_beforehand(folder: Path, vocab: int, *, sampled: bool, machine: str) -> PriorKnowledge:
    """What a process that has just started knows: this model's table, and the hit rates that ship together with those
    of earlier runs. `machine` names what step times depend on."""
    kept, shipped = read_rates(rates_file(folder, sampled)), read_rates(SHIPPED_RATES)
    rates = blended(kept, shipped) if kept and shipped else kept or shipped
    step_seconds = (kept or {}).get(TIMES, {}).get(machine)
    return PriorKnowledge(load_table(table_file(folder), vocab), rates, step_seconds)


def rates_file(folder: Path, sampled: bool) -> Path:
    """Hit rates differ between greedy decoding and sampling."""
    return folder / f"hit-rates-{'sampled' if sampled else 'greedy'}-v{RATES_FORMAT}.json"


def read_rates(file: Path) -> dict[str, Any] | None:
    """What `write_rates` wrote; None if there is nothing readable."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(content, dict) and all(isinstance(content.get(part), dict) for part in PARTS)
    if whole and not isinstance(content.setdefault(TIMES, {}), dict):
        return None
    return content if whole else None


def write_rates(file: Path, rates: Mapping[str, Mapping[str, Any]]) -> None:
    """Store rates, completely or not at all, beside those of drafters that were not at work this time.

    Raises:
        OSError: the folder cannot be written to.
    """
    old = read_rates(file) or {}
    merged = {part: {**old.get(part, {}), **numbers} for part, numbers in rates.items()}
    with written_whole(file) as unfinished:
        unfinished.write_text(json.dumps(merged, separators=(",", ":")), encoding="utf-8")
