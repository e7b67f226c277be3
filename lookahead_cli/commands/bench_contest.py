"""The contest of `lookahead bench`: held, shown and saved, whatever ends it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import about_model, tell
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import ENDINGS, Interrupted
from lookahead_cli.render.progress import ProgressStatus
from lookahead_cli.render.terminal import console, print_tables

if TYPE_CHECKING:
    from lookahead_cli.bench.contest import Run
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.entries import Entry
    from lookahead_cli.bench.outputs import Outputs
    from lookahead_cli.bench.prompts import BenchPrompt
    from lookahead_cli.bench.records import Records
    from lookahead_cli.bench.step_times import MeasuredSteps
    from lookahead_cli.models.progress import Progress
    from lookahead_cli.profile import Settings
    from lookahead_cli.session import Session

REPEATS_FOR_PLOT = 5
"""Of each step time: a curve forgives more than a table."""


@dataclass(frozen=True)
class Contest:
    """What was asked for."""

    settings: Settings
    entries: Sequence[Entry]
    prompts: Sequence[BenchPrompt]
    rounds: int
    fresh: bool
    outputs: Outputs
    as_json: bool

    @property
    def size(self) -> int:
        """How many times a prompt is put."""
        return self.rounds * len(self.prompts)


def hold_contest(contest: Contest) -> int:
    """Measure, print, save; returns the exit code.

    Raises:
        LookaheadError: something ended it; what had been measured by then has been printed and saved.
    """
    notes = console("stderr", contest.settings.display)
    with ProgressStatus(notes) as progress, ExitStack() as opened:
        with interrupts_kept():
            progress("loading torch")
            from lookahead_cli.bench.contest import warm_up
            from lookahead_cli.bench.contestants import enter
            from lookahead_cli.bench.records import Records, machine_of
            from lookahead_cli.session import open_session

            header = header_for(contest)
            if contest.outputs.records is not None and contest.outputs.resumes:
                Records.check(contest.outputs.records, header)
            began = perf_counter()
            session = open_session(contest.settings, progress)
            seconds = perf_counter() - began
            records, runs = open_records(contest.outputs, {**header, "machine": machine_of(session.settings)})
            if records is not None:
                opened.enter_context(closing(records))
            found = len(runs) // len(contest.entries)
            entered = enter(session, contest.entries, apart=False, progress=progress)
            if found < contest.size:
                progress("warming up")
                warm_up(entered, contest.prompts[0])
        ended = measure(contest, entered, records, runs, progress)
        measured: list[MeasuredSteps] = []
        if contest.outputs.plot is not None and ended is None:
            ended = measure_curve(session, measured, progress)
    if found:
        afresh = "; after them everybody started with what a new process knows" if found < contest.size else ""
        tell(notes, f"{found} of {contest.size} prompts were there already{afresh}")
    tell(notes, *(notice for each in entered for notice in each.entrant.notices))
    if contest.settings.display.verbose:
        tell(notes, about_model(session, seconds))
    count = len(runs) // len(entered)
    if ended is not None and 0 < count < contest.size:
        advice = "" if records is None else "; --resume goes on from here"
        tell(notes, f"cut short, this is what {count} of {contest.size} prompts came to{advice}")
    if runs:
        hand_out(contest, session.settings, entered, runs, measured[-1] if measured else None)
    if isinstance(ended, Exception):
        raise ended
    return 0 if ended is None else Interrupted.exit_code


def header_for(contest: Contest) -> dict[str, Any]:
    """What the file for the runs begins with, but for the machine."""
    from lookahead_cli.bench.records import header_of

    return header_of(contest.settings, contest.entries, contest.prompts, rounds=contest.rounds, fresh=contest.fresh)


def open_records(outputs: Outputs, header: dict[str, Any]) -> tuple[Records | None, list[Run]]:
    """The file for the runs, if one is wanted, and the runs that are in it already."""
    from lookahead_cli.bench.records import Records

    if outputs.records is None:
        return None, []
    if outputs.resumes:
        return Records.resume(outputs.records, header)
    return Records.begin(outputs.records, header), []


def measure(
    contest: Contest, entered: Sequence[Contestant], records: Records | None, runs: list[Run], progress: Progress
) -> BaseException | None:
    """Add all runs that are not there yet to `runs` and `records`; returns what ended that early."""
    from lookahead_cli.bench.contest import compete

    done = {(run.round, run.prompt) for run in runs}
    try:
        for of_prompt in compete(entered, contest.prompts, rounds=contest.rounds, fresh=contest.fresh, done=done):
            if records is not None:
                records.add(of_prompt)
            runs += of_prompt
            count = len(runs) // len(entered)
            progress(f"{count} of {contest.size} prompts", count / contest.size)
    except ENDINGS as error:
        return error
    return None


def measure_curve(session: Session, measured: list[MeasuredSteps], progress: Progress) -> BaseException | None:
    """Add the step times for the plot to `measured`, the latest last; returns what ended that early."""
    from lookahead_cli.bench.step_times import measure_steps

    session.cache_use.claim()
    try:
        progress("measuring step times")
        measured.extend(measure_steps(session.runner, session.loaded.context_length, REPEATS_FOR_PLOT))
    except ENDINGS as error:
        return error
    return None


def hand_out(
    contest: Contest, settled: Settings, entered: Sequence[Contestant], runs: list[Run], measured: MeasuredSteps | None
) -> None:
    """Save and show what the runs come to. Each of it is done even if something else fails."""
    from lookahead_cli.bench.flat_rows import write_csv
    from lookahead_cli.bench.tally import speed_ups, standings
    from lookahead_cli.render.bench_table import bench_object, bench_tables

    references = {contestant.name: contestant.held_against.name for contestant in entered}
    standing, spreads = standings(runs), speed_ups(runs, references)

    def show() -> None:
        with writing_output():
            if contest.as_json:
                complete = len(runs) == contest.size * len(entered)
                found = {"rounds": contest.rounds, "complete": complete, **bench_object(entered, standing, spreads)}
                print(json.dumps(found), file=sys.stdout)
            else:
                print_tables(bench_tables(entered, standing, spreads), contest.settings.display)

    def draw() -> None:
        if contest.outputs.plot is None:
            return
        from lookahead_cli.bench.curves import curves
        from lookahead_cli.render import bench_plot

        found = curves(contest.entries, references, standing, spreads)
        bench_plot.draw(contest.outputs.plot, found, measured, about(contest, settled))

    with ExitStack() as last_one_first:
        last_one_first.callback(draw)
        last_one_first.callback(show)
        if contest.outputs.csv is not None:
            write_csv(contest.outputs.csv, runs, references)


def about(contest: Contest, settled: Settings) -> str:
    """What was measured, for the head of a plot."""
    model = settled.model
    return (
        f"{model.source} · {model.runner} runner, {model.dtype}, {model.device}, threads: {model.threads} · "
        f"prompts: {len(contest.prompts)}, rounds: {contest.rounds}, "
        f"at most {contest.settings.decoding.max_new_tokens} tokens"
    )
