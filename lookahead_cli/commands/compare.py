"""`lookahead compare`: the same prompt decoded in several ways, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.generate import one_prompt, read_prompt
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import about_model, tell
from lookahead_cli.commands.output import Writing, opened_result, print_object
from lookahead_cli.errors import ENDINGS, FAILURES, Interrupted, PromptError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from lookahead_cli.bench.contest import Run
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.outcome import Deviation, Outcome
    from lookahead_cli.bench.prompts import BenchPrompt
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort
    from lookahead_cli.render.race import Racer
    from lookahead_cli.session import Session

DIFFERS = 1
"""Exit code where tokens differ that should not."""


def compare(
    context: typer.Context,
    words: options.PromptWords = None,
    prompt: options.Prompt = None,
    prompt_file: options.PromptFile = None,
    system: options.System = None,
    raw: options.Raw = False,
    contestants: options.Contestants = None,
    prompts: Annotated[
        Path | None,
        options.option(
            options.PROMPT,
            "FILE",
            "Many prompts instead: one a line, or with the ending .jsonl an object a line with prompt or turns and "
            "perhaps category.",
            "--prompts",
            example="--prompts prompts.jsonl",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        options.option(
            options.PROMPT,
            "N",
            "So many of --prompts, spread over all categories.",
            "--limit",
            example="--prompts prompts.jsonl --limit 24",
            min=1,
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
    output: options.ToFile = None,
    append: options.Append = False,
    as_json: options.AsJson = False,
    color: options.Color = None,
    theme: options.Theme = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> int:
    """Decode a prompt in several ways, side by side: are the tokens the same, and which is faster?

    By default greedily and with lookahead. Exit code 1 means that tokens differ which must not.

    Examples:
        lookahead compare "Count to twenty."
        lookahead compare -p "Count to twenty." --with greedy --with lookahead --with jacobi:k=4
        lookahead compare --prompts prompts.jsonl --limit 24 --json -o compared.json
    """
    settings = options.resolve_options(context.params).settings
    from lookahead_cli.bench.entries import default_entries, read_entries
    from lookahead_cli.bench.prompts import BenchPrompt, read_bench_prompts

    if prompts is not None:
        if words or prompt is not None or prompt_file is not None:
            raise PromptError("--prompts brings its own prompts: leave --prompt and --prompt-file out")
        chosen = read_bench_prompts(prompts, limit)
    else:
        if limit is not None:
            raise PromptError("--limit counts the prompts of a file: give one with --prompts")
        chosen = [BenchPrompt(read_prompt(one_prompt(words, prompt), prompt_file), "")]
    entries = read_entries(contestants or default_entries(settings), settings)

    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console, marking_console

    notes, screen = console("stderr", settings.display), marking_console(settings.display)
    # Somebody sees it going on: then all decode by turns, else one after the other.
    unseen = as_json or output is not None or screen.is_dumb_terminal
    watched = prompts is None and screen.is_terminal and not unseen
    with opened_result(output, append) as writing:
        with ProgressStatus(notes) as progress, interrupts_kept():
            progress("loading torch")
            began = perf_counter()
            from lookahead_cli.bench.contest import warm_up
            from lookahead_cli.bench.contestants import enter
            from lookahead_cli.session import open_session

            session = open_session(settings, progress)
            seconds = perf_counter() - began
            entered = enter(session, entries, apart=watched, progress=progress)
            progress("warming up")
            warm_up(entered, chosen[0])
        tell(notes, *(notice for each in entered for notice in each.entrant.notices))
        if settings.display.verbose:
            tell(notes, about_model(session, seconds))
        if prompts is None:
            return compare_one(session, entered, chosen[0].text, settings, as_json, watched, writing)
        return compare_many(session, entered, chosen, settings, as_json, writing)


def compare_one(
    session: Session,
    entered: Sequence[Contestant],
    prompt: str,
    settings: Settings,
    as_json: bool,
    watched: bool,
    writing: Writing,
) -> int:
    """A race on one prompt, shown on the terminal if it is `watched`."""
    from lookahead_cli.bench.outcome import outcomes
    from lookahead_cli.bench.race import race
    from lookahead_cli.render.race import Racer, picture
    from lookahead_cli.render.terminal import console, marking_console

    notes = console("stderr", settings.display)
    racers = [Racer(each.name, each.entrant.generate(prompt)) for each in entered]
    generations = [racer.generation for racer in racers]
    ended: BaseException | None = None
    try:
        if watched:
            from lookahead_cli.render.live_region import LiveRegion

            screen = marking_console(settings.display)
            with LiveRegion(screen) as region:
                for _ in race(generations):
                    region.draw(lambda: picture(screen, racers))
        else:
            race_unseen(racers, settings, notes)
    except ENDINGS as error:
        ended = error
    found = outcomes(session, entered, generations)
    if isinstance(ended, KeyboardInterrupt):
        tell(notes, "interrupted, this is how far they came")
    if any(generation.steps for generation in generations):
        cut_short: CutShort = "failed" if isinstance(ended, FAILURES) else "interrupted"
        with writing():
            show_one(marking_console(settings.display), racers, found, as_json, cut_short)
    return exit_code(ended, any(outcome.is_broken_promise for outcome in found))


def race_unseen(racers: Sequence[Racer], settings: Settings, notes: Console) -> None:
    """The same one after the other, with a word about who is at it."""
    from lookahead_cli.bench.race import one_after_the_other
    from lookahead_cli.render.progress import ProgressStatus

    most = settings.decoding.max_new_tokens
    with ProgressStatus(notes) as progress:
        for place, _ in one_after_the_other([racer.generation for racer in racers]):
            done = min(racers[place].generation.statistics.tokens / most, 1.0)
            progress(f"decoding, {racers[place].name}", (place + done) / len(racers))


def show_one(
    output: Console, racers: Sequence[Racer], found: Sequence[Outcome], as_json: bool, cut_short: CutShort
) -> None:
    """The texts, whole, and what the race came to; `cut_short` is why, of those that did not come to an end."""
    from lookahead_cli.render.compare_object import compare_object
    from lookahead_cli.render.race import fits_side_by_side, side_by_side
    from lookahead_cli.render.terminal import WIDTH_IN_PIPE
    from lookahead_cli.render.verdict import fastest, gains, outcome_table, provenance_bars, verdicts

    if as_json:
        print_object(compare_object(found, cut_short))
        return
    if not output.is_terminal:
        output.width = WIDTH_IN_PIPE
        output.print(outcome_table(found, output.width))
    elif fits_side_by_side(output, racers):
        output.print(side_by_side(output, racers))
    else:
        output.print(*racers[0].text(output, output.width).lines, sep="\n")
        output.print(outcome_table(found, output.width))
    for line in verdicts(found):
        output.print(line)
    best = fastest(found)
    if best is not None:
        output.print(gains(best))
        for line in provenance_bars(output, best):
            output.print(line)


def compare_many(
    session: Session,
    entered: Sequence[Contestant],
    chosen: Sequence[BenchPrompt],
    settings: Settings,
    as_json: bool,
    writing: Writing,
) -> int:
    """A contest on many prompts."""
    from lookahead_cli.bench.contest import compete
    from lookahead_cli.bench.outcome import first_deviations
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console

    notes = console("stderr", settings.display)
    runs: list[Run] = []
    ended: BaseException | None = None
    try:
        with ProgressStatus(notes) as progress:
            progress(f"0 of {len(chosen)} prompts", 0.0)
            for of_prompt in compete(entered, chosen):
                runs += of_prompt
                done = len(runs) // len(entered)
                progress(f"{done} of {len(chosen)} prompts", done / len(chosen))
    except ENDINGS as error:
        ended = error
    done = len(runs) // len(entered)
    if ended is not None and done:
        tell(notes, f"cut short, this is what {done} of {len(chosen)} prompts came to")
    deviations = first_deviations(session, entered, chosen, runs)
    if runs:
        with writing():
            show_many(entered, runs, deviations, settings, as_json)
    return exit_code(ended, any(deviation.is_broken_promise for deviation in deviations))


def show_many(
    entered: Sequence[Contestant],
    runs: Sequence[Run],
    deviations: Sequence[Deviation],
    settings: Settings,
    as_json: bool,
) -> None:
    """Tables, and where tokens differ."""
    from lookahead_cli.bench.tally import standings
    from lookahead_cli.render.bench_table import category_table, overall_table
    from lookahead_cli.render.compare_object import contest_object
    from lookahead_cli.render.terminal import print_tables
    from lookahead_cli.render.verdict import different_somewhere, identical

    standing = standings(runs)
    if as_json:
        print_object(contest_object(entered, standing, deviations))
        return
    differing = [deviation.contestant for deviation in deviations]
    same = [each for each in entered if each.reference is not None and each not in differing]
    tables: list[RenderableType] = [overall_table(entered, standing)]
    if len(standing[entered[0].name].categories) > 1:
        tables.append(category_table(entered, standing))
    tables += identical(same)
    tables += [different_somewhere(deviation) for deviation in deviations]
    print_tables(tables, settings.display)


def exit_code(ended: BaseException | None, broken: bool) -> int:
    """What the program says to scripts. Raises what ended the comparison, if that was a failure."""
    if isinstance(ended, FAILURES):
        raise ended
    if ended is not None:
        return Interrupted.exit_code
    return DIFFERS if broken else 0
