"""What was found out about a machine, on a screen, in a pipe and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lookahead_cli.machine.advice import cores
from lookahead_cli.render.palette import BAD, NOTE
from lookahead_cli.render.summary import SEPARATOR, counted
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.machine.accelerators import Accelerator
    from lookahead_cli.machine.choice import Chosen, ModelChoice
    from lookahead_cli.machine.processor import Processor
    from lookahead_cli.machine.report import Report
    from lookahead_cli.machine.speed import Run, Speed
    from lookahead_cli.machine.storage import Storage

GB, MB = 1e9, 1e6
NAME_WIDTH = 11
UNTOLD = "?"
"""For what could not be found out; a sentence further below says why."""

Line = tuple[str, str]
"""What it is about, and what there is to say."""


def print_report(output: Console, report: Report, advice: Sequence[str]) -> None:
    """Facts, then sentences: what is wrong, what could not be found out, what to do."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=NAME_WIDTH)
    grid.add_column(overflow="fold")
    for name, said in report_lines(report):
        if not output.is_terminal:
            output.print(f"{name.ljust(NAME_WIDTH)}  {visible(said)}")
        grid.add_row(Text(name, style="bold"), visible(said))
    if output.is_terminal:
        output.print(grid)
    for heading, sentences, style in (
        ("wrong", report.problems, BAD),
        ("not known", report.unknown, NOTE),
        ("good to know", advice, NOTE),
    ):
        if sentences:
            output.print()
            output.print(Text(f"{heading}:", style=style))
            for sentence in sentences:
                output.print(Text(f"- {visible(' '.join(sentence.split())).rstrip('.')}."))
    output.print()
    output.print(verdict(report))


def verdict(report: Report) -> str:
    """Whether the tool can work here."""
    if report.problems:
        return "Something is broken: see above."
    if report.model is not None and report.model.folder is None:
        return "Nothing is wrong here; the model has to be made ready first."
    return "Ready to generate."


def report_lines(report: Report) -> Iterator[Line]:
    """The facts."""
    yield "versions", SEPARATOR.join(f"{name} {version or 'missing'}" for name, version in report.versions.items())
    yield "system", report.platform or UNTOLD
    yield "processor", told_processor(report)
    yield "devices", told_devices(report.accelerators)
    yield "memory", told_memory(report)
    yield "cache", told_storage(report.cache)
    yield "hub cache", told_storage(report.hub_cache) + (", offline" if report.hub_offline else "")
    yield "variables", SEPARATOR.join(f"{name}={value}" for name, value in report.variables.items()) or "none"
    yield "profile", str(report.profile)
    if report.model is not None:
        yield from model_lines(report.model)
    yield from speed_lines(report.speed) if report.speed is not None else [not_measured(report)]


def told_processor(report: Report) -> str:
    processor, instructions = report.processor, report.instructions
    if processor is None:
        return UNTOLD
    parts = [processor.name, told_cores(processor)]
    if instructions is not None:
        parts.append(", ".join(instructions.names) or f"kernels for {instructions.kernels}")
        parts.append("multiplies bfloat16" if instructions.multiplies_bfloat16 else "does not multiply bfloat16")
    if processor.load is not None:
        parts.append(f"load average {processor.load:.1f}")
    return SEPARATOR.join(parts)


def told_cores(processor: Processor) -> str:
    if not processor.limited_by:
        return cores(processor.cores)
    return f"{processor.usable:g} of {cores(processor.cores)} ({processor.limited_by})"


def told_devices(accelerators: list[Accelerator] | None) -> str:
    if accelerators is None:
        return UNTOLD
    named = []
    for each in accelerators:
        memory = (
            ""
            if each.memory is None or each.free is None
            else (f", {gigabytes(each.free)} of {gigabytes(each.memory)} free")
        )
        named.append(f"{each.device}: {each.name}{memory}")
    return SEPARATOR.join([*named, "cpu"])


def told_memory(report: Report) -> str:
    memory = report.memory
    if memory is None:
        return UNTOLD
    limit = "" if memory.limit is None else f" (the container may use {gigabytes(memory.limit)})"
    return f"{gigabytes(memory.total)}{limit}{SEPARATOR}{gigabytes(memory.free)} free"


def told_storage(storage: Storage | None) -> str:
    if storage is None:
        return UNTOLD
    writable = "writable" if storage.obstacle is None else f"not writable: {storage.obstacle}"
    parts = (
        str(storage.folder),
        f"{storage.size / MB:,.0f} MB",
        f"{gigabytes(storage.free)} free on its disk",
        writable,
    )
    return SEPARATOR.join(parts)


def model_lines(model: ModelChoice) -> Iterator[Line]:
    """What would be used, and why."""
    yield "model", f"{model.source}{SEPARATOR}{model.folder or 'not here yet'}"
    for name, chosen in (("device", model.device), ("threads", model.threads), ("runner", model.runner),
                         ("dtype", model.dtype), ("weights", model.weights)):  # fmt: skip
        yield name, told_choice(chosen)


def told_choice(chosen: Chosen | None) -> str:
    return "known once the model is here" if chosen is None else f"{chosen.name}: {chosen.why}"


def speed_lines(speed: Speed) -> Iterator[Line]:
    """What was measured."""
    four_bits = ", 4-bit weights" if speed.four_bits else ""
    yield "loading", f"{speed.loading_seconds:.1f} s{four_bits}"
    yield "prompt", f"{speed.prompt_tokens} tokens at {speed.prompt_tokens_per_second:.0f} tokens/s"
    yield "greedy", told_run(speed.greedy)
    if speed.lookahead is None:
        yield "lookahead", "guesses cannot be taken back with this model"
    else:
        gain = speed.lookahead.tokens_per_second / (speed.greedy.tokens_per_second or 1)
        same = "the same tokens" if speed.same_tokens else "other tokens"
        yield "lookahead", SEPARATOR.join((told_run(speed.lookahead), f"{gain:.2f}x", same))
    if speed.pass_milliseconds:
        times = speed.pass_milliseconds.items()
        told = (f"{time:.1f} ms with {counted(rows, 'row')}" for rows, time in times)
        yield "a pass", SEPARATOR.join(told)


def told_run(run: Run) -> str:
    counts = f"{run.tokens_per_step:.2f} tokens per step, {counted(run.tokens, 'token')}"
    return f"{run.tokens_per_second:.1f} tokens/s, {counts}"


def not_measured(report: Report) -> Line:
    return "speed", f"not measured: {report.no_speed or 'see below'}"


def gigabytes(size: float) -> str:
    return f"{size / GB:.1f} GB"


def report_object(report: Report, advice: Sequence[str]) -> dict[str, Any]:
    """All of it as plain dicts, lists and numbers; bytes and seconds. Keys may be added, none changes or goes."""
    plain: dict[str, Any] = _plain(asdict(report))
    return {**plain, "advice": list(advice), "works": not report.problems}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
