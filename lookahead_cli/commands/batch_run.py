"""The run of `lookahead batch`: prompts are read, answered and written, whatever ends it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from lookahead_cli.batch.feed import Feed
from lookahead_cli.batch.form import Form
from lookahead_cli.batch.intake import Intake
from lookahead_cli.batch.output import Output, OutputWanted, open_output, stored_settings
from lookahead_cli.batch.reading import read_records
from lookahead_cli.batch.results import Failure
from lookahead_cli.batch.shard import Shard
from lookahead_cli.batch.sources import find_sources
from lookahead_cli.batch.tally import Tally
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import about_model, tell
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import Interrupted, LookaheadError, ResourceError
from lookahead_cli.profile import Settings, draw_seed
from lookahead_cli.render.batch_progress import BatchProgress
from lookahead_cli.render.progress import ProgressStatus, spent
from lookahead_cli.render.summary import counted
from lookahead_cli.render.terminal import console

if TYPE_CHECKING:
    from lookahead_cli.batch.engine import Answering

MOST_HELD = 10_000
"""Results in memory that wait for their turn; then no further record is begun."""
PARTLY_FAILED = 1
"""Exit code of a run in which a record has failed."""


@dataclass(frozen=True)
class EngineWanted:
    """What decodes, and how many records at a time."""

    size: int | Literal["auto"]
    name: str
    ray_address: str | None
    ray_cores: int | None


@dataclass(frozen=True)
class BatchRun:
    """What was asked for."""

    settings: Settings
    files: Sequence[str]
    form: Form
    shard: Shard | None
    strict: bool
    output: OutputWanted
    engine: EngineWanted


def run_batch(run: BatchRun) -> int:
    """Answer everything; returns the exit code.

    Raises:
        LookaheadError: something ended the run; what had been answered by then has been written.
    """
    sources = find_sources(run.files, run.form, run.output.is_own)
    records = read_records(sources, run.form)
    settings = settled_before(run)
    notes = console("stderr", settings.display)
    tally = Tally()
    with writing_output(), open_output(run.output, description(run, settings)) as output, Feed(records) as feed:
        intake = Intake(feed, output, run.shard)
        try:
            with opened_engine(run, settings, notes) as engine:
                tally.started = perf_counter()  # loading does not count
                answer_all(run, engine, intake, output, tally, notes)
        except KeyboardInterrupt:
            tell(notes, interrupted(run.output, tally))
            return Interrupted.exit_code
        output.finish()
    tally.known, tally.failed_before = intake.known, output.failed_before
    tell(notes, *summary(run.output, tally))
    return PARTLY_FAILED if tally.failed or tally.failed_before else 0


def settled_before(run: BatchRun) -> Settings:
    """The settings as they count for every record: a drawn seed is that of the run that is gone on with, and weights of
    4 bits are unpacked, since passes over many texts are wide, and those weights are made for narrow ones."""
    settings = run.settings
    earlier = stored_settings(run.output) or {}
    drawn = earlier.get("settings", {}).get("decoding", {}).get("seed")
    seed = drawn if settings.decoding.seed == "random" and isinstance(drawn, int) else draw_seed(settings.decoding)
    weights = "full" if settings.model.weights == "auto" else settings.model.weights
    return settings.model_copy(
        update={
            "decoding": settings.decoding.model_copy(update={"seed": seed}),
            "model": settings.model.model_copy(update={"weights": weights}),
        }
    )


def description(run: BatchRun, settings: Settings) -> dict[str, Any]:
    """All that has a say in what a result is, and how records get their ids."""
    form = run.form
    return {
        "settings": settings.model_dump(mode="json", exclude={"display"}),
        "input": {
            "format": form.format,
            "column": form.column,
            "template": None if form.template is None else form.template.text,
            "one_per_file": form.one_per_file,
            "shard": None if run.shard is None else list(run.shard),
        },
    }


@contextmanager
def opened_engine(run: BatchRun, settings: Settings, notes: Console) -> Iterator[Answering]:
    """What answers records, with its model loaded; told what there is to know about it."""
    with ExitStack() as stack:
        with ProgressStatus(notes) as progress, interrupts_kept():
            progress("loading torch")
            began = perf_counter()
            engine: Answering
            about: list[str] = []
            if run.engine.name == "ray":
                from lookahead_cli.batch.ray_engine import RayEngine

                progress("starting workers")
                wanted = run.engine
                engine = stack.enter_context(RayEngine(settings, wanted.size, wanted.ray_address, wanted.ray_cores))
            else:
                from lookahead_cli.batch.engine import Engine
                from lookahead_cli.session import open_session

                session = open_session(settings, progress)
                about = [about_model(session, perf_counter() - began)]
                engine = Engine(session, run.engine.size)
                stack.callback(engine.keep_what_was_learned)
        tell(notes, *engine.notices)
        if settings.display.verbose:
            tell(notes, *about)
        yield engine


def answer_all(run: BatchRun, engine: Answering, intake: Intake, output: Output, tally: Tally, notes: Console) -> None:
    """Write the outcome of every record.

    Raises:
        LookaheadError: a record failed and none may, or the run cannot go on.
    """
    live = run.output.lines is not None or not sys.stdout.isatty()
    with BatchProgress(notes, tally, live=live) as progress:
        for outcome in engine.answer(intake, may_enter=lambda: output.held < MOST_HELD):
            if outcome is None:
                progress.show()
                continue
            if run.strict and isinstance(outcome, Failure):
                raise FirstFailure(f"{outcome.place}: {outcome.reason} (--strict stops here)")
            output.write(outcome)
            tally.known = intake.known
            tally.add(outcome)
            progress.show()


class FirstFailure(LookaheadError):
    """A record failed, and that was to end the run."""

    exit_code = ResourceError.exit_code


def interrupted(wanted: OutputWanted, tally: Tally) -> str:
    """What to say after Ctrl-C."""
    advice = "; --resume goes on from here" if wanted.run_folder is not None else ""
    return f"interrupted after {counted(tally.done + tally.failed, 'record')}{advice}"


def summary(wanted: OutputWanted, tally: Tally) -> list[str]:
    """What to say at the end."""
    said = []
    if tally.known:
        failed = f", {tally.failed_before:,} of them failed (--retry-failed tries again)" if tally.failed_before else ""
        said.append(f"done before: {counted(tally.known, 'record')}{failed}")
    if tally.done:
        said.append(
            f"{counted(tally.done, 'record')} answered in {spent(tally.seconds)}: {tally.tokens:,} tokens, "
            f"{tally.tokens_per_second:.1f} tokens/s, {tally.tokens_per_step:.2f} tokens per step"
        )
    if tally.failed:
        first = tally.first_failure
        assert first is not None, "one has been counted"
        advice = " (--retry-failed tries again)" if wanted.run_folder is not None else ""
        failed = counted(tally.failed, "record")
        said.append(f"{failed} failed, the first one: {first.place}: {first.reason}{advice}")
    return said or ["there were no records in the input"]
