"""One outcome as one line of JSON. Its keys are a promise: some may be added, none changes or goes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NewType

from lookahead_cli.batch.results import Failure, Outcome, Result

Digest = NewType("Digest", bytes)
"""Stands for an id in memory, whatever its length."""

DIGEST_BYTES = 16
"""Among a billion ids the chance that any two share one is 10^-21."""


@dataclass(frozen=True)
class LineForm:
    """What a line tells, and how."""

    with_tokens: bool = False
    """Also which tokens the text is made of, and where each came from."""
    stats: bool = True
    """Also what depends on the machine and on the guesses. Without it, two runs can be compared byte by byte."""
    ascii_only: bool = False
    """Escape everything else: on a terminal no control character gets through."""


@dataclass(frozen=True)
class Known:
    """What has to be known of a line that an earlier run has written."""

    digest: Digest
    is_failure: bool


def digest_of(id: str) -> Digest:
    """The same for the same id, in every run."""
    return Digest(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES])


def line_of(outcome: Outcome, form: LineForm) -> bytes:
    """The line, with its newline."""
    keys = result_keys(outcome, form) if isinstance(outcome, Result) else failure_keys(outcome)
    text = json.dumps(keys, ensure_ascii=form.ascii_only)
    # Half of a surrogate pair is no text that UTF-8 can hold; what Python makes of it is the escape that JSON has.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def result_keys(result: Result, form: LineForm) -> dict[str, Any]:
    tokens = len(result.token_ids)
    keys: dict[str, Any] = {
        "id": result.id,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "prompt_tokens": result.prompt_tokens,
        "tokens": tokens,
    }
    if form.stats:
        keys["steps"] = result.steps
        keys["tokens_per_step"] = round(tokens / result.steps, 3) if result.steps else None
        keys["seconds"] = round(result.seconds, 3)
    if result.seed is not None:
        keys["seed"] = result.seed
    if form.with_tokens:
        keys["token_ids"] = result.token_ids
        if form.stats:
            keys["provenance"] = result.provenance
    return keys


def failure_keys(failure: Failure) -> dict[str, Any]:
    keys: dict[str, Any] = {"id": failure.id, "error": failure.reason, "place": failure.place}
    if failure.line is not None:
        keys["line"] = failure.line
    return keys


def read_line(line: bytes) -> dict[str, Any]:
    """The keys of a line, as far as they are needed to go on with a file.

    Raises:
        ValueError: it is not the line of an outcome.
    """
    try:
        keys = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(keys, dict) or not isinstance(keys.get("id"), str):
        raise ValueError("no id")
    if not any(isinstance(keys.get(key), str) for key in ("text", "error")):
        raise ValueError("neither a text nor an error")
    return keys


def known_from(line: bytes) -> Known:
    """Raises ValueError like `read_line`."""
    keys = read_line(line)
    return Known(digest_of(keys["id"]), is_failure="error" in keys)
