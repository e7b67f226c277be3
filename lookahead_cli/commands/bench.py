"""`lookahead bench`: strategies measured against each other on prompts, or the step times of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookahead_cli.commands import options
from lookahead_cli.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = "Files"
"""A panel of the help page."""
CONTEST_FLAGS = {
    "prompts": "--prompts", "contestants": "--with", "k": "-k", "init": "--init", "temperature": "--temperature",
    "limit": "--limit", "rounds": "--rounds", "fresh": "--fresh", "output": "--output", "resume": "--resume",
    "csv": "--csv", "plot": "--plot",
}  # fmt: skip
"""Parameters that say something about a contest only, and their flags."""


def bench(
    context: typer.Context,
    prompts: Annotated[
        Path | None,
        options.option(
            options.CONTEST,
            "FILE",
            "A prompt a line, or with the ending .jsonl an object a line; else those that ship.",
            "--prompts",
            example="--prompts prompts.jsonl",
        ),
    ] = None,
    contestants: options.Contestants = None,
    k: Annotated[
        str | None,
        options.option(
            options.CONTEST,
            "N|auto,...",
            "Guesses per step; a list with commas is crossed with the strategies.",
            "-k",
            "--k",
            example="-k 4,8,auto",
        ),
    ] = None,
    init: Annotated[
        str | None,
        options.option(
            options.CONTEST,
            "NAME,...",
            "What a fresh guess is; a list with commas is crossed with the strategies.",
            "--init",
            example="--with jacobi --init random,copy-last",
        ),
    ] = None,
    temperature: Annotated[
        str | None,
        options.option(
            options.CONTEST,
            "X,...",
            "0: always the likeliest token; a list with commas is crossed with the strategies.",
            "--temperature",
            "-t",
            example="-t 0,0.7",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        options.option(
            options.CONTEST,
            "N",
            "So many of the prompts, spread over all categories.",
            "--limit",
            example="--limit 8",
            min=1,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        options.option(
            options.CONTEST,
            "N",
            "Everything so many times; each round begins with what a new process knows.",
            "--rounds",
            example="--rounds 3",
            min=1,
        ),
    ] = None,
    fresh: Annotated[
        bool,
        options.flag(options.CONTEST, "--fresh", "Begin each prompt with what a new process knows.", example="--fresh"),
    ] = False,
    step_times: Annotated[
        bool,
        options.flag(
            options.CONTEST,
            "--step-times",
            "No contest: milliseconds per forward pass for 1 to 64 rows.",
            example="--step-times",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        options.option(
            FILES,
            "FILE",
            "Write every run to it as it is measured, a JSON object a line.",
            "--output",
            "-o",
            example="-o runs.jsonl",
        ),
    ] = None,
    resume: Annotated[
        bool,
        options.flag(
            FILES,
            "--resume",
            "Go on with the --output of an interrupted contest.",
            example="-o runs.jsonl --resume",
        ),
    ] = False,
    csv: Annotated[
        Path | None,
        options.option(FILES, "FILE", "Write a row for each run to it, at the end.", "--csv", example="--csv runs.csv"),
    ] = None,
    plot: Annotated[
        Path | None,
        options.option(
            FILES,
            "FILE",
            "Draw it, as .svg or .png; needs matplotlib, which comes with the extra plot.",
            "--plot",
            example="--plot runs.svg",
        ),
    ] = None,
    profile: options.Profile = None,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    as_json: options.AsJson = False,
    color: options.Color = None,
    theme: options.Theme = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> int:
    """Measure strategies on prompts: tokens per step, speed, where the time goes, and whether the tokens are the same.

    Every prompt is decoded with every strategy in turn, by default with greedy and lookahead; ratios are to the first
    one with the same sampling. Ctrl-C prints and keeps what was measured so far.

    Examples:
        lookahead bench --limit 8
        lookahead bench --with greedy --with lookahead -k 4,8,16,auto -o runs.jsonl --plot runs.svg
        lookahead bench --prompts prompts.jsonl --temperature 0,0.7 --rounds 3 --csv runs.csv
        lookahead bench --step-times
    """
    from lookahead_cli.bench.grid import GRID, crossed_entries, split_lists

    parameters = context.params
    lists = split_lists({key: parameters[key] for key in GRID})
    settings = options.resolve_options({**parameters, **dict.fromkeys(lists)}).settings
    if step_times:
        refuse_contest(parameters)
        from lookahead_cli.commands.bench_step_times import show_step_times

        return show_step_times(settings, as_json)

    from lookahead_cli.bench.entries import default_entries
    from lookahead_cli.bench.outputs import Outputs
    from lookahead_cli.bench.prompts import DEFAULT_PROMPTS, read_bench_prompts
    from lookahead_cli.commands.bench_contest import Contest, hold_contest
    from lookahead_cli.profile import draw_seed

    # Drawn here, so that it is in the file and an interrupted contest can go on with it.
    drawn = {"seed": draw_seed(settings.decoding)}
    settings = settings.model_copy(update={"decoding": settings.decoding.model_copy(update=drawn)})
    chosen = read_bench_prompts(prompts or DEFAULT_PROMPTS, limit)
    entries = crossed_entries(contestants or default_entries(settings), lists, settings)
    outputs = Outputs(output, csv, plot, resume)
    outputs.check()
    return hold_contest(Contest(settings, entries, chosen, rounds or 1, fresh, outputs, as_json))


def refuse_contest(parameters: Mapping[str, Any]) -> None:
    """Raise ProfileError for an option that means nothing where no contest is held."""
    for name, flag in CONTEST_FLAGS.items():
        if parameters[name] not in options.NOT_GIVEN:
            raise ProfileError(f"option --step-times: it measures forward passes alone; leave {flag} out")
