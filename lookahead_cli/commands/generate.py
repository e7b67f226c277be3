"""`lookahead generate`: one prompt, continued."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import about_model, tell
from lookahead_cli.commands.output import opened_result
from lookahead_cli.commands.piped import piped_content
from lookahead_cli.errors import FAILURES, Interrupted, ProfileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookahead_cli.decoding.events import Event
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort, Renderer
    from lookahead_cli.text.token_labels import Label
    from lookahead_cli.trace.writing import TraceFile


REHEARSAL_NOTE = (
    "a background process at the lowest priority now lets the model talk to itself for some minutes, once; later "
    "runs guess better for it (rehearse = false in a profile turns this off)"
)


def generate(
    context: typer.Context,
    words: options.PromptWords = None,
    prompt: options.Prompt = None,
    prompt_file: options.PromptFile = None,
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
    output: options.ToFile = None,
    append: options.Append = False,
    as_json: options.AsJson = False,
    color: options.Color = None,
    theme: options.Theme = None,
    no_stats: options.NoStats = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    explain: options.Explain = False,
    step_delay: options.StepDelay = 0.0,
    trace: Annotated[
        Path | None,
        options.option(
            options.OUTPUT,
            "FILE",
            "Write every step to a file, for lookahead replay.",
            "--trace",
            example="--trace steps.jsonl",
        ),
    ] = None,
) -> int:
    """Answer or continue a prompt.

    It is what stands behind the command or --prompt; standard input and --prompt-file come before that, with a blank
    line between. On a terminal accepted guesses are coloured as they stream; in a pipe or file there is just the text.
    With --explain there are the steps, one on a line.

    Examples:
        lookahead generate "Write a haiku about the sea."
        lookahead generate -p "Name three rivers." -t 0.8 --top-p 0.9 --seed 3
        cat report.txt | lookahead generate -p "Summarise this in three sentences." -o summary.txt
        lookahead generate -p "def fibonacci(n):" --profile code --json | jq .stats.tokens_per_step
    """
    refuse_both(explain, as_json)
    settings = options.resolve_options(context.params).settings
    whole = read_prompt(one_prompt(words, prompt), prompt_file)
    return run(settings, whole, Shown(as_json, output, append, explain, step_delay), trace)


def one_prompt(words: list[str] | None, prompt: str | None) -> str | None:
    """What was typed as the prompt; its words need no quotes. Raises PromptError."""
    from lookahead_cli.errors import PromptError

    if not words:
        return prompt
    if prompt is not None:
        raise PromptError("the prompt is there twice: give it behind the command or with --prompt, in quotes")
    return " ".join(words)


def read_prompt(prompt: str | None, prompt_file: Path | None) -> str:
    """The prompt from everything that was given."""
    from lookahead_cli.errors import PromptError
    from lookahead_cli.text.prompt import decode_prompt, join_prompt, read_prompt_file

    content = piped_content()
    if prompt is None and prompt_file is None and content is None:
        raise PromptError('there is no prompt: give --prompt "...", --prompt-file FILE, or text on standard input')
    piped = None if content is None else decode_prompt(content, "standard input")
    return join_prompt(piped, read_prompt_file(prompt_file) if prompt_file else None, prompt)


def refuse_both(explain: bool, as_json: bool) -> None:
    """Raise ProfileError if the output is to be two things."""
    if explain and as_json:
        raise ProfileError("options --explain and --json: the output is lines to read or an object; give one of them")


@dataclass(frozen=True)
class Shown:
    """What is shown of a generation, and where."""

    as_json: bool = False
    file: Path | None = None
    append: bool = False
    explain: bool = False
    step_delay: float = 0.0


def run(settings: Settings, prompt: str, shown: Shown, trace: Path | None = None) -> int:
    """Load, decode, render; returns the exit code."""
    from lookahead_cli.render.pace import slowed
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console
    from lookahead_cli.render.unseen import UnseenRenderer

    notes = console("stderr", settings.display)
    with opened_result(shown.file, shown.append) as writing, tracing(trace) as record:
        with ProgressStatus(notes) as progress, interrupts_kept():
            progress("loading torch")
            began = perf_counter()
            from lookahead_cli.session import open_session
            from lookahead_cli.text.token_labels import TokenLabels

            session = open_session(settings, progress)
            seconds = perf_counter() - began
            generation = session.generate(prompt, progress=progress)
            label = TokenLabels(session.loaded.tokenizer.backend_tokenizer)
            if record is not None:
                record.begin(session.settings, prompt, generation.prompt_ids, label)
                generation.events = record.recording(generation.events)
            events = slowed(iter(generation), shown.step_delay)
            next(events)
        tell(notes, *session.notices)
        if settings.display.verbose:
            tell(notes, about_model(session, seconds))
        with writing() as to_file, ProgressStatus(notes) as progress:
            explained = Explained(generation.prompt_ids[-1], label) if shown.explain else None
            renderer = choose_renderer(session.settings, shown.as_json, explained)
            if to_file or shown.as_json:
                renderer = UnseenRenderer(renderer, notes, progress, session.settings, generation)
            code = render(generation, events, renderer)
    if code == 0 and session.rehearse():
        tell(notes, REHEARSAL_NOTE)
    return code


def tracing(trace: Path | None) -> AbstractContextManager[TraceFile | None]:
    """The file of a trace, if there is to be one."""
    if trace is None:
        return nullcontext()
    from lookahead_cli.trace.writing import open_trace

    return open_trace(trace)


def render(
    generation: Generation, events: Iterator[Event], renderer: Renderer, cut_short: CutShort | None = None
) -> int:
    """Show the steps as they come; whatever ends them, what has been said is shown whole. `cut_short` says of recorded
    ones whether they came to an end of their own."""
    from lookahead_cli.decoding.events import StepEvent

    try:
        for event in events:
            if isinstance(event, StepEvent):
                renderer.show(event)
    except KeyboardInterrupt:
        renderer.close(generation, cut_short="interrupted")
        return Interrupted.exit_code
    except FAILURES:
        renderer.close(generation, cut_short="failed")
        raise
    renderer.close(generation, cut_short)
    return 0


@dataclass(frozen=True)
class Explained:
    """What explaining steps takes beside them."""

    last_token: int
    """Of the prompt."""
    label: Label


def choose_renderer(settings: Settings, as_json: bool, explained: Explained | None = None) -> Renderer:
    """JSON or explained steps if asked for, colours on a terminal, the bare text anywhere else."""
    from lookahead_cli.render.explain import ExplainRenderer
    from lookahead_cli.render.json_object import JsonRenderer
    from lookahead_cli.render.live import LiveRenderer
    from lookahead_cli.render.plain import PlainRenderer
    from lookahead_cli.render.terminal import console

    if as_json:
        return JsonRenderer(sys.stdout, settings)
    output, notes = console("stdout", settings.display), console("stderr", settings.display)
    if explained is not None:
        return ExplainRenderer(output, notes, settings, explained.last_token, explained.label)
    if output.is_terminal or settings.display.color == "always":
        return LiveRenderer(output, notes, settings)
    return PlainRenderer(sys.stdout)
