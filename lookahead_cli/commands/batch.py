"""`lookahead batch`: files of prompts in, results out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.piped import stdin_is_piped
from lookahead_cli.errors import ProfileError, PromptError

if TYPE_CHECKING:
    from lookahead_cli.batch.form import Form

INPUT, RESULTS, RUN = "Input", "Results", "Run"
"""Panels of the help page."""


def batch(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help=options.with_example("Files, folders or patterns; - or nothing: standard input.", "prompts.jsonl"),
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str,
        options.option(
            INPUT,
            "NAME",
            "jsonl, text or csv; auto: by the file's name, standard input by its first line.",
            "--format",
            example="--format csv table.txt",
        ),
    ] = "auto",
    column: Annotated[
        str | None,
        options.option(
            INPUT,
            "NAME",
            "CSV: the column with the prompt, else prompt or the only one.",
            "--column",
            example="--column question table.csv",
        ),
    ] = None,
    template: Annotated[
        str | None,
        options.option(
            INPUT,
            "TEXT",
            "A prompt around fields, columns or {text}; braces that stay are doubled.",
            "--template",
            example="--template 'Summarise: {text}' prompts.txt",
        ),
    ] = None,
    one_per_file: Annotated[
        bool,
        options.flag(INPUT, "--one-per-file", "Text: each file is one prompt.", example="--one-per-file notes/"),
    ] = False,
    shard: Annotated[
        str | None,
        options.option(
            INPUT,
            "I/N",
            "Only every Nth record, beginning with the Ith.",
            "--shard",
            example="--shard 2/5 prompts.jsonl",
        ),
    ] = None,
    strict: Annotated[
        bool,
        options.flag(INPUT, "--strict", "Stop at the first record that fails.", example="--strict prompts.jsonl"),
    ] = False,
    output: Annotated[
        Path | None,
        options.option(
            RESULTS,
            "FILE",
            "Results as JSON Lines; without it to standard output.",
            "--output",
            "-o",
            example="-o results.jsonl prompts.jsonl",
        ),
    ] = None,
    out_dir: Annotated[
        Path | None,
        options.option(
            RESULTS,
            "DIR",
            "The text of each result in a file of its own, named after its id; the JSON Lines beside them.",
            "--out-dir",
            example="--out-dir answers prompts.jsonl",
        ),
    ] = None,
    unordered: Annotated[
        bool,
        options.flag(
            RESULTS,
            "--unordered",
            "Results as they finish, not in the order of the input.",
            example="--unordered prompts.jsonl",
        ),
    ] = False,
    with_tokens: Annotated[
        bool,
        options.flag(RESULTS, "--with-tokens", "Adds token_ids and provenance.", example="--with-tokens prompts.jsonl"),
    ] = False,
    no_stats: Annotated[
        bool,
        options.flag(
            RESULTS,
            "--no-stats",
            "Leaves out steps and seconds: what remains is the same in every run.",
            example="--no-stats prompts.jsonl",
        ),
    ] = False,
    resume: Annotated[
        bool,
        options.flag(
            RESULTS,
            "--resume",
            "Go on with an interrupted run, or begin it.",
            example="-o results.jsonl --resume prompts.jsonl",
        ),
    ] = False,
    retry_failed: Annotated[
        bool,
        options.flag(
            RESULTS,
            "--retry-failed",
            "Go on, and try again what failed, with the input as it is by now.",
            example="-o results.jsonl --retry-failed prompts.jsonl",
        ),
    ] = False,
    batch_size: Annotated[
        str,
        options.option(
            RUN,
            "N|auto",
            "Records at a time; auto: as many as pay and as there is memory for.",
            "--batch-size",
            example="--batch-size 8 prompts.jsonl",
        ),
    ] = "auto",
    engine: Annotated[
        str,
        options.option(
            RUN,
            "NAME",
            "local, or ray: on all devices of a Ray cluster.",
            "--engine",
            example="--engine ray prompts.jsonl",
        ),
    ] = "local",
    ray_address: Annotated[
        str | None,
        options.option(
            RUN,
            "ADDRESS",
            "ray: the cluster to join; without it one is started here.",
            "--ray-address",
            example="--engine ray --ray-address auto prompts.jsonl",
        ),
    ] = None,
    ray_cores: Annotated[
        int | None,
        options.option(
            RUN,
            "N",
            "ray: cores of a worker without a GPU.",
            "--ray-cores",
            example="--engine ray --ray-cores 4 prompts.jsonl",
            min=1,
        ),
    ] = None,
    system: options.System = None,
    raw: options.Raw = False,
    profile: options.Profile = None,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    strategy: options.Strategy = None,
    drafters: options.Drafters = None,
    k: options.K = None,
    init: options.Init = None,
    refill: options.Refill = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    min_p: options.MinP = None,
    repetition_penalty: options.RepetitionPenalty = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    stop: options.Stop = None,
    color: options.Color = None,
    theme: options.Theme = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> int:
    """Answer many prompts, several at a time, and lose nothing: an interrupted run is taken up with --resume.

    Each line of the input is a record: an object with prompt or messages (JSONL), a line of text, a row of CSV.
    Results are JSON objects, a line each, in the order of the input.

    Examples:
        lookahead batch prompts.jsonl -o results.jsonl
        cat prompts.txt | lookahead batch | jq -r .text
        lookahead batch notes/ --one-per-file --template "Summarise: {text}" --out-dir summaries
        lookahead batch prompts.jsonl -o results.jsonl --resume
    """
    settings = options.resolve_options(context.params).settings
    size, name = size_of(batch_size), engine_name(engine, ray_address, ray_cores)

    from lookahead_cli.batch.output import OutputWanted
    from lookahead_cli.batch.shard import parse_shard
    from lookahead_cli.commands.batch_run import BatchRun, EngineWanted, run_batch

    wanted = OutputWanted(
        file=output,
        folder=out_dir,
        ordered=not unordered,
        resume=resume,
        retry_failed=retry_failed,
        with_tokens=with_tokens,
        stats=not no_stats,
    )
    return run_batch(
        BatchRun(
            settings=settings,
            files=given_files(files or []),
            form=form_of(form, column, template, one_per_file),
            shard=None if shard is None else parse_shard(shard),
            strict=strict,
            output=wanted,
            engine=EngineWanted(size, name, ray_address, ray_cores),
        )
    )


def given_files(files: list[str]) -> list[str]:
    """What to read: standard input if nothing is named and something is piped in. Raises PromptError."""
    if files:
        return files
    if not stdin_is_piped():
        raise PromptError("there is no input: name files or folders, or pipe prompts in")
    return ["-"]


def form_of(form: str, column: str | None, template: str | None, one_per_file: bool) -> Form:
    """How the input is to be read. Raises ProfileError."""
    from lookahead_cli.batch.form import Form
    from lookahead_cli.batch.template import parse_template

    parsed = None if template is None else parse_template(template)
    return Form(form, column, parsed, one_per_file)  # type: ignore[arg-type] # it says itself what it takes


def size_of(text: str) -> int | Literal["auto"]:
    """The batch size. Raises ProfileError."""
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_AT_A_TIME):
        from lookahead_cli.layers import shown

        raise ProfileError(
            f'option --batch-size: {shown(text)} is not allowed: it must be "auto" or a whole number from 1 to '
            f"{MOST_AT_A_TIME}"
        )
    return int(text)


MOST_AT_A_TIME = 4096
ENGINES = ("local", "ray")


def engine_name(engine: str, ray_address: str | None, ray_cores: int | None) -> str:
    """The engine's name. Raises ProfileError for one that is not there, and options of another."""
    from lookahead_cli.layers import shown
    from lookahead_cli.profile import nearest

    if engine not in ENGINES:
        raise ProfileError(
            f"option --engine: {shown(engine)} is not allowed: it must be {' or '.join(ENGINES)}"
            f"{nearest(engine, ENGINES)}"
        )
    given = {"--ray-address": ray_address, "--ray-cores": ray_cores}
    if engine != "ray" and (flag := next((flag for flag, value in given.items() if value is not None), None)):
        raise ProfileError(f"option {flag}: it is for --engine ray; add that, or leave it out")
    return engine
