"""`lookahead doctor`: what this machine has, what a model would be run with here, and how fast that is."""

from __future__ import annotations

from typing import Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.output import print_object, writing_output
from lookahead_cli.errors import ResourceError


def doctor(
    context: typer.Context,
    profile: options.Profile = None,
    model: options.Model = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    no_speed: Annotated[
        bool, options.flag(options.OUTPUT, "--no-speed", "Measure nothing.", example="--no-speed")
    ] = False,
    as_json: Annotated[bool, options.flag(options.OUTPUT, "--json", "One JSON object.", example="--json")] = False,
) -> int:
    """What this machine has, what the model would be run with and why, how fast that is, and what could be better.

    Nothing is downloaded: the speed is measured if the model is ready, for about ten seconds. The exit code is 1 if
    something is broken.

    Examples:
        lookahead doctor
        lookahead doctor --dtype float32 --threads 2 --no-speed
    """
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console

    resolved = options.resolve_options(context.params)
    display = resolved.settings.display
    with ProgressStatus(console("stderr", display)) as progress, interrupts_kept():
        from lookahead_cli.machine.advice import advice
        from lookahead_cli.machine.report import examine

        report = examine(resolved.settings, resolved.profile, not no_speed, progress)
    with writing_output():
        from lookahead_cli.render.report_lines import print_report, report_object

        if as_json:
            print_object(report_object(report, advice(report)))
        else:
            print_report(console("stdout", display), report, advice(report))
    return ResourceError.exit_code if report.problems else 0
