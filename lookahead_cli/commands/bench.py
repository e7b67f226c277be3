"""`lookahead bench`: strategies measured against each other on a file of prompts."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import Interrupted, LookaheadError

if TYPE_CHECKING:
    from lookahead_cli.bench.contest import Run
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.render.terminal import ColorSetting

WIDTH_IN_PIPE = 120


def bench(
    context: typer.Context,
    prompts: Annotated[
        Path, typer.Option("--prompts", metavar="FILE", help="A prompt a line, or JSONL with prompt or turns.")
    ],
    contestants: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME[:KEY=VALUE,...]", help="A strategy with settings (repeat for more)."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Use N prompts, spread over all categories.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start each prompt with what a new process knows, not with all learned.")
    ] = False,
    profile: options.Profile = None,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    as_json: options.AsJson = False,
) -> int:
    """Measure strategies on a file of prompts: tokens per step, speed, and whether the tokens are the same.

    Every prompt is decoded with every strategy in turn, by default with greedy and lookahead; ratios are to the first.
    Example: lookahead bench --prompts prompts.txt --with greedy --with lookahead:k=16 --with jacobi:k=4
    """
    settings = options.resolve_options(context.params).settings
    from lookahead_cli.bench.entries import default_entries, read_entries
    from lookahead_cli.bench.prompts import read_bench_prompts, spread
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console

    chosen = read_bench_prompts(prompts)
    chosen = chosen if limit is None else spread(chosen, limit)
    entries = read_entries(contestants or default_entries(settings), settings)
    notes = console("stderr", settings.display.color)
    runs: list[Run] = []
    with ProgressStatus(notes) as progress:
        with interrupts_kept():
            progress("loading torch")
            from lookahead_cli.bench.contest import compete, warm_up
            from lookahead_cli.bench.contestants import enter
            from lookahead_cli.session import open_session

            session = open_session(settings, progress)
            entered = enter(session, entries, apart=False, progress=progress)
            progress("warming up")
            warm_up(entered, chosen[0].text)
        ended: BaseException | None = None
        done = 0
        try:
            for done, of_prompt in enumerate(compete(entered, chosen, fresh=fresh), start=1):
                runs += of_prompt
                progress(f"{done} of {len(chosen)} prompts", done / len(chosen))
        except (KeyboardInterrupt, LookaheadError) as error:
            ended = error
    with suppress(OSError):
        for notice in dict.fromkeys(notice for each in entered for notice in each.entrant.notices):
            notes.print(f"note: {notice}", style="yellow")
        if ended is not None and done:
            notes.print(f"note: cut short, this is what {done} of {len(chosen)} prompts came to", style="yellow")
    if runs:
        with writing_output():
            show(entered, runs, as_json, settings.display.color)
    if isinstance(ended, LookaheadError):
        raise ended
    return Interrupted.exit_code if ended is not None else 0


def show(entered: list[Contestant], runs: list[Run], as_json: bool, color: ColorSetting) -> None:
    """Tables on a terminal and in a pipe, or one JSON object."""
    from lookahead_cli.bench.tally import standings
    from lookahead_cli.render.bench_table import bench_object, category_table, overall_table
    from lookahead_cli.render.terminal import console

    standing = standings(runs)
    if as_json:
        print(json.dumps(bench_object(entered, standing)), file=sys.stdout, flush=True)
        return
    output = console("stdout", color)
    if not output.is_terminal:
        output.width = WIDTH_IN_PIPE
    output.print(overall_table(entered, standing))
    if len(standing[entered[0].name].categories) > 1:
        output.print(category_table(entered, standing))
