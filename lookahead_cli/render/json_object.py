"""One generation as one JSON object. Its shape is a promise: keys may be added, none changes or goes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.profile import Settings

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.decoding.statistics import Statistics
    from lookahead_cli.render import CutShort


class JsonRenderer:
    """Prints the object once the generation is over."""

    def __init__(self, file: TextIO, settings: Settings) -> None:
        self.file = file
        self.settings = settings

    def show(self, step: StepEvent) -> None:
        pass

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        # On a terminal nothing but ASCII is sent: no control character gets through.
        ascii_only = self.file.isatty()
        self.file.write(json.dumps(json_object(generation, self.settings, cut_short), ensure_ascii=ascii_only) + "\n")
        self.file.flush()


def json_object(generation: Generation, settings: Settings, cut_short: CutShort | None = None) -> dict[str, Any]:
    """The object: plain dicts, lists, strings, numbers, booleans and None. Times in seconds."""
    return {
        "text": generation.text,
        "token_ids": generation.token_ids,
        "prompt_tokens": len(generation.prompt_ids),
        "finish_reason": cut_short or generation.finish_reason,
        "stats": statistics_object(generation.statistics),
        "steps": [
            {
                "token_ids": list(step.token_ids),
                "provenance": list(step.provenance),
                "drafted": step.drafted,
                "drafted_by": dict(step.drafted_by),
                "seconds": step.seconds,
                "forward_seconds": step.forward_seconds,
                "draft_seconds": step.draft_seconds,
                "select_seconds": step.select_seconds,
            }
            for step in generation.steps
        ],
        "settings": settings.model_dump(mode="json"),
    }


def statistics_object(statistics: Statistics) -> dict[str, Any]:
    """Counts, rates and times of a generation."""
    return {
        "tokens": statistics.tokens,
        "steps": statistics.steps,
        "tokens_per_step": statistics.tokens_per_step,
        "drafted": statistics.drafted,
        "accepted": statistics.accepted,
        "acceptance_rate": statistics.acceptance_rate,
        "acceptance_by_depth": statistics.acceptance_by_depth,
        "drafters": {name: asdict(counts) for name, counts in statistics.drafters.items()},
        "prefill_seconds": statistics.prefill_seconds,
        "decode_seconds": statistics.decode_seconds,
        "forward_seconds": statistics.forward_seconds,
        "draft_seconds": statistics.draft_seconds,
        "select_seconds": statistics.select_seconds,
        "tokens_per_second": statistics.tokens_per_second,
        "time_to_first_token": statistics.time_to_first_token,
    }
