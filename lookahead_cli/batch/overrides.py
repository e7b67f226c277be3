"""Keys of [decoding] that a record sets for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from lookahead_cli.batch.content import Unusable, usable_text
from lookahead_cli.layers import shown
from lookahead_cli.profile import DecodingSettings, allowed

OVERRIDES = (
    "max_new_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "seed",
    "stop",
)
"""What changes from one prompt to the next without touching how the batch is decoded."""
RANDOM = "random"
"""Allowed as a seed in a profile but not here: what a record gets must be the same when a run is taken up again."""

MOST_STOPS = 1000
"""A list of millions that are all wrong would be millions of errors before the first one is told."""


def check_overrides(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `fields` that are overrides, as the profile would hold them; null stands for nothing.

    Raises:
        Unusable: one has a value that a profile could not have.
    """
    given = {key: fields[key] for key in OVERRIDES if fields.get(key) is not None}
    if not given:
        return {}
    if given.get("seed") == RANDOM:
        raise _refusal("seed", RANDOM)
    stop = given.get("stop", [])
    stops = stop if isinstance(stop, list) else [stop]
    if len(stops) > MOST_STOPS:
        raise Unusable(f"stop: it must be at most {MOST_STOPS} texts")
    for text in stops:
        if isinstance(text, str):
            usable_text(text, "stop")
    try:
        checked = DecodingSettings.model_validate(given)
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        raise _refusal(key, given[key]) from None
    return {key: getattr(checked, key) for key in given}


def _refusal(key: str, value: Any) -> Unusable:
    words = allowed("decoding", key)
    if key == "seed":
        words = words.removeprefix(f'"{RANDOM}" or ')
    return Unusable(f"{key}: {shown(value)} is not allowed: it must be {words}")
