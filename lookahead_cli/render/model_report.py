"""What is known about one model, as lines or as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from lookahead_cli.models.facts import Facts
from lookahead_cli.render.amounts import shown_bytes, shown_count
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.models.report import Report

Line = tuple[str, str]
"""What it is, and what there is to say."""
KINDS = {"packaged": "packaged", "folder": "a folder", "gguf": "a GGUF file", "hub": "the hub"}


def report_table(told: Report) -> Table:
    """For a terminal."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in report_lines(told):
        table.add_row(name, Text(visible(value)))
    return table


def report_lines(told: Report) -> Iterator[Line]:
    """All there is to say."""
    yield "source", f"{told.source.name} ({KINDS[told.source.kind]})"
    yield "folder", str(told.folder) if told.folder else _where_it_is_not(told)
    if told.disk_bytes:
        yield "on disk", shown_bytes(told.disk_bytes)
    if told.fetch_bytes:
        yield "to fetch", f"{shown_bytes(told.fetch_bytes)}: lookahead models pull {told.source.name}"
    if told.facts is not None:
        yield from _shape(told)
        yield from _text(told)
    yield from _running(told)


def _where_it_is_not(told: Report) -> str:
    return "not converted yet: its first use does that" if told.source.kind == "gguf" else "not here"


def _shape(told: Report) -> Iterator[Line]:
    facts = told.facts
    assert facts is not None
    yield "architecture", facts.architecture or "not said"
    yield "parameters", f"{shown_count(facts.parameters)} ({facts.parameters:,})" if facts.parameters else "not known"
    heads = f"{facts.heads} heads" if facts.heads else ""
    if heads and facts.key_value_heads != facts.heads:
        heads += f", {facts.key_value_heads} for keys and values"
    sizes = [f"{facts.layers} layers" if facts.layers else "", f"width {facts.hidden}" if facts.hidden else "", heads]
    yield "shape", ", ".join(filter(None, sizes)) or "not said"
    yield "vocabulary", f"{facts.vocab:,} tokens" if facts.vocab else "not said"
    yield "context", f"{facts.context_length:,} tokens" if facts.context_length else "no limit said"
    yield "stored as", ", ".join(facts.dtypes) or "not known"


def _text(told: Report) -> Iterator[Line]:
    yield "chat template", "yes" if told.chat_template else "no: prompts are continued as they are"
    ends = [f"{end.text} ({end.id})" if end.text is not None else str(end.id) for end in told.end_tokens]
    yield "ends with", ", ".join(ends) or "no token that is known"
    settings = told.generation
    honoured = [f"repetition_penalty {settings.repetition_penalty:g}"] if settings.repetition_penalty != 1 else []
    yield "own settings", ", ".join(["end tokens", *honoured]) + " are honoured"
    if settings.not_honoured:
        yield "", f"{', '.join(settings.not_honoured)}: not honoured"
    if settings.sampling:
        suggested = ", ".join(f"{name} {value:g}" for name, value in settings.sampling.items())
        yield "", f"for sampling its makers suggest {suggested}: only if you ask for it"


def _running(told: Report) -> Iterator[Line]:
    if told.obstacle:
        yield "cannot be run", told.obstacle
    if told.plan is not None:
        why = told.plan.why_not_lean
        yield "runner", f"{told.plan.runner}, not lean because {why}" if why else told.plan.runner
        yield "strategies", f"{told.plan.strategies}: {told.plan.why}" if told.plan.why else told.plan.strategies
    needs = told.needs
    if needs is not None:
        four_bit = ", 4-bit weights as such" if needs.four_bit else ""
        yield "run in", f"{needs.dtype} on {needs.device}{four_bit}"
        weights = "not known" if needs.weight_bytes is None else shown_bytes(needs.weight_bytes)
        context = "not known" if needs.context_bytes is None else shown_bytes(needs.context_bytes)
        yield "memory", f"weights {weights}; for each 1,000 tokens of context {context}"


def report_object(told: Report) -> dict[str, Any]:
    """The same as plain dicts, lists, strings and numbers."""
    return {
        "source": told.source.name,
        "kind": told.source.kind,
        "folder": str(told.folder) if told.folder else None,
        "disk_bytes": told.disk_bytes,
        "fetch_bytes": told.fetch_bytes,
        **(_facts_object(told)),
        "chat_template": told.chat_template if told.facts else None,
        "end_tokens": [asdict(end) for end in told.end_tokens],
        "generation": {
            "repetition_penalty": told.generation.repetition_penalty,
            "not_honoured": list(told.generation.not_honoured),
            "sampling": dict(told.generation.sampling),
        },
        "plan": asdict(told.plan) if told.plan else None,
        "needs": asdict(told.needs) if told.needs else None,
        "obstacle": told.obstacle or None,
    }


def _facts_object(told: Report) -> dict[str, Any]:
    """Its keys are there whatever is known."""
    facts: dict[str, Any] = asdict(told.facts) if told.facts else {each.name: None for each in fields(Facts)}
    facts["stored_dtypes"] = list(facts.pop("dtypes") or ())
    return facts
