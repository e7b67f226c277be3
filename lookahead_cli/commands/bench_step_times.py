"""`lookahead bench --step-times`: how long a forward pass takes by its number of rows."""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import about_model, tell
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import Interrupted
from lookahead_cli.render.progress import ProgressStatus
from lookahead_cli.render.terminal import console, print_tables

if TYPE_CHECKING:
    from lookahead_cli.bench.step_times import MeasuredSteps
    from lookahead_cli.profile import Settings


def show_step_times(settings: Settings, as_json: bool) -> int:
    """Measure and print; returns the exit code. After Ctrl-C there is what was measured so far."""
    notes = console("stderr", settings.display)
    measured: MeasuredSteps | None = None
    code = 0
    with ProgressStatus(notes) as progress:
        with interrupts_kept():
            progress("loading torch")
            from lookahead_cli.bench.step_times import REPEATS, TEXT_TOKENS, measure_steps
            from lookahead_cli.session import open_session

            began = perf_counter()
            session = open_session(settings, progress)
            seconds = perf_counter() - began
        try:
            progress("measuring step times")
            for measured in measure_steps(session.runner, session.loaded.context_length):
                progress("measuring step times", measured.repeats / REPEATS)
        except KeyboardInterrupt:
            code = Interrupted.exit_code
    if settings.display.verbose:
        tell(notes, about_model(session, seconds))
    if measured is None:
        return code
    if measured.text_tokens < TEXT_TOKENS:
        tell(notes, f"the context is short, so the text has {measured.text_tokens} tokens")
    if obstacle := session.runner.rewind_obstacle:
        tell(notes, f"only one row can be measured: {obstacle}")
    show(measured, session.settings, as_json)
    return code


def show(measured: MeasuredSteps, settled: Settings, as_json: bool) -> None:
    """A table, or one JSON object."""
    from lookahead_cli.render.step_times_table import about_step_times, step_times_object, step_times_table

    with writing_output():
        if as_json:
            print(json.dumps(step_times_object(measured, settled.model)), file=sys.stdout)
        else:
            about = about_step_times(measured, settled.model)
            print_tables([about, step_times_table(measured, settled.model)], settled.display)
