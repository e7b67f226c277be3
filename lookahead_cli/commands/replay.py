"""`lookahead replay`: the steps of a trace, shown again without a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.generate import Explained, choose_renderer, refuse_both, render
from lookahead_cli.commands.notes import tell
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import Interrupted, TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookahead_cli.decoding.events import Event
    from lookahead_cli.profile import Settings
    from lookahead_cli.trace.reading import Trace

STDIN = "-"
FASTEST = "max"
SLOWEST_SPEED, HIGHEST_SPEED = 0.01, 1000


def parse_speed(value: str) -> float | None:
    """How many times as fast as recorded; None: without waiting."""
    return None if value == FASTEST else options.parse_number("--speed", value, SLOWEST_SPEED, HIGHEST_SPEED, FASTEST)


def replay(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help=options.with_example("What generate --trace has written; -: standard input.", "steps.jsonl"),
        ),
    ],
    speed: Annotated[
        str | None,
        options.option(
            options.OUTPUT,
            "X|max",
            "So many times as fast as it was; max: without waiting. On a terminal 1, else max.",
            "--speed",
            example="--speed 0.5",
        ),
    ] = None,
    explain: options.Explain = False,
    step_delay: options.StepDelay = 0.0,
    no_stats: options.NoStats = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
    color: options.Color = None,
    theme: options.Theme = None,
    quiet: options.Quiet = False,
) -> int:
    """Show a generation again that generate --trace has recorded; no model is needed.

    On a terminal at the speed it had, else at once.

    Examples:
        lookahead replay steps.jsonl --explain --speed max
        cat steps.jsonl | lookahead replay - --json | jq .stats
    """
    refuse_both(explain, as_json)
    times = parse_speed(speed) if speed is not None else 1.0 if sys.stdout.isatty() and not as_json else None
    shown = options.resolve_options(context.params).settings
    trace = read(file)
    try:
        return run(trace, shown, times, step_delay, explain=explain, as_json=as_json)
    except KeyboardInterrupt:
        return Interrupted.exit_code


def read(file: str) -> Trace:
    """The trace of that name.

    Raises:
        TraceError: it cannot be read, or not be used.
    """
    from pathlib import Path

    from lookahead_cli.commands.piped import stdin_is_piped
    from lookahead_cli.trace.reading import read_trace

    if file == STDIN and not stdin_is_piped():
        raise TraceError("there is no trace on standard input: pipe one in, or name its file")
    name = "standard input" if file == STDIN else f"trace {file}"
    try:
        if file == STDIN:
            return read_trace(sys.stdin.buffer, name)
        with Path(file).open("rb") as opened:
            return read_trace(opened, name)
    except OSError as error:
        raise TraceError(f"{name} cannot be read: {error.strerror or error}") from None


def run(trace: Trace, shown: Settings, speed: float | None, step_delay: float, *, explain: bool, as_json: bool) -> int:
    """Show it as `shown` says; returns the exit code."""
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.render.pace import paced, slowed
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console

    notes = console("stderr", shown.display)
    if trace.note is not None:
        tell(notes, trace.note)
    prompt = trace.begin.prompt_token_ids
    # What was recorded is shown in the way in which this user wants things to be shown.
    settings = trace.settings if as_json else trace.settings.model_copy(update={"display": shown.display})
    recorded: Iterator[Event] = trace.events if speed is None else paced(trace.events, speed)
    generation = Generation(prompt, recorded)
    events = slowed(iter(generation), step_delay)
    with ProgressStatus(notes) as progress:
        progress(f"reading the prompt, {len(prompt)} tokens")
        next(events, None)
    with writing_output():
        explained = Explained(prompt[-1], trace.labels.__getitem__) if explain else None
        return render(generation, events, choose_renderer(settings, as_json, explained), trace.cut_short)
