"""Prompts to measure with: plain lines, or JSON lines with a prompt and perhaps a category."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookahead_cli.errors import PromptError
from lookahead_cli.text.prompt import is_unicode

NO_CATEGORY = "all"
DEFAULT_PROMPTS = Path(__file__).with_name("prompts.jsonl")
"""Some of our own, of all kinds."""


@dataclass(frozen=True)
class BenchPrompt:
    """One prompt and the group it is counted with."""

    text: str
    category: str
    place: str = field(default="", compare=False)
    """File and line."""


def read_bench_prompts(file: Path, limit: int | None = None) -> list[BenchPrompt]:
    """The prompts in `file`, at most `limit` of them (see `spread`).

    A name that ends in .jsonl: an object a line, with `prompt` or `turns` (as in Spec-Bench, the first one counts) and
    perhaps `category`. Any other: a prompt a line; empty lines are left out.

    Raises:
        PromptError: the file cannot be read, or holds no prompt, or a line of it none.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise PromptError(f"{file} is not UTF-8 text") from None
    except OSError as error:
        raise PromptError(f"{file} cannot be read: {error.strerror or error}") from None
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise PromptError(f"{file} holds no prompts: put one on each line")
    placed = [(line, f"{file}, line {number}") for number, line in numbered]
    if file.suffix.lower() == ".jsonl":
        prompts = [_record(line, place) for line, place in placed]
    else:
        prompts = [BenchPrompt(line, NO_CATEGORY, place) for line, place in placed]
    return prompts if limit is None else spread(prompts, limit)


def _record(line: str, place: str) -> BenchPrompt:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise PromptError(f"{place}: not JSON") from None
    fields = record if isinstance(record, dict) else {}
    turns = fields.get("turns")
    text = fields.get("prompt", turns[0] if isinstance(turns, list) and turns else None)
    if not isinstance(text, str) or not text:
        raise PromptError(f'{place}: no prompt; give "prompt": "..." or "turns": ["..."]')
    category = fields.get("category")
    category = NO_CATEGORY if category is None else str(category)
    if not is_unicode(text) or not is_unicode(category):
        raise PromptError(f"{place}: half characters (surrogates); give it as Unicode text")
    return BenchPrompt(text, category, place)


def spread(prompts: list[BenchPrompt], limit: int) -> list[BenchPrompt]:
    """At most `limit` prompts, as evenly from all categories as they allow, in the order of the file."""
    rounds: dict[str, int] = {}
    ranked = []
    for place, prompt in enumerate(prompts):
        rounds[prompt.category] = rounds.get(prompt.category, 0) + 1
        ranked.append((rounds[prompt.category], place))
    return [prompts[place] for place in sorted(place for _, place in sorted(ranked)[:limit])]
