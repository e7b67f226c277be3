"""The options that set a profile's keys, shared by every command that decodes; and their completion in the shell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookahead_cli.bench.names import GUESSING
from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.errors import ProfileError

if TYPE_CHECKING:
    from lookahead_cli.layers import Key, Resolved

PROMPT, MODEL, DECODING, CONTEST, OUTPUT = "Prompt", "Model", "Decoding", "Contest", "Output"
"""Panels of the help page."""
LONGEST_DELAY = 3600
"""Seconds."""


def complete_profiles(incomplete: str) -> list[str]:
    """Profiles that can be named."""
    from lookahead_cli.profile import profile_names

    return [name for name in profile_names() if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """Models that can be named."""
    from lookahead_cli.models.known_names import model_names

    return model_names(incomplete)


def complete_choices(section: str, key: str) -> Callable[[str], list[str]]:
    """A completion that offers the words a key of the profile takes."""

    def complete(incomplete: str) -> list[str]:
        from lookahead_cli.profile import choices

        return [word for word in choices(section, key) if word.startswith(incomplete)]

    return complete


def complete_contestants(incomplete: str) -> list[str]:
    """Names for `--with`."""
    return [name for name in GUESSING if name.startswith(incomplete)]


EXAMPLE = " [dim]e.g. "
"""Between an option's line in the help and its example."""


def option(panel: str, metavar: str, help_text: str, *flags: str, example: str = "", **more: Any) -> Any:
    """An option whose value is checked with the profile's keys, so that every layer gets the same message.

    `help_text` is one line, and `example` what may be typed behind the command; neither has square brackets.
    """
    return typer.Option(*flags, metavar=metavar, help=with_example(help_text, example), rich_help_panel=panel, **more)


def flag(panel: str, name: str, help_text: str, *names: str, example: str = "") -> Any:
    """An option without a value."""
    return option(panel, "", help_text, name, *names, example=example)


def with_example(help_text: str, example: str) -> str:
    """What stands in the help."""
    return f"{help_text}{EXAMPLE}{example}[/dim]" if example else help_text


def parse_number(name: str, value: str, least: float, most: float, *words: str) -> float:
    """A number of an option that is no setting; `words` are what may stand there too.

    Raises:
        ProfileError: it is none, or out of range.
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        allowed = " or ".join([f"a number from {least:g} to {most:g}", *words])
        raise ProfileError(f'option {name}: "{value}" is not allowed; give {allowed}')
    return number


def parse_delay(value: str) -> float:
    """What is given to --step-delay."""
    return parse_number("--step-delay", str(value), 0, LONGEST_DELAY)


def _choice(panel: str, section: str, key: str, help_text: str, *flags: str, example: str) -> Any:
    completion = complete_choices(section, key)
    return option(panel, "NAME", help_text, *flags, example=example, autocompletion=completion)


PromptWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROMPT",
        help=with_example("What to answer or continue, as --prompt.", '"Name three rivers."'),
        show_default=False,
    ),
]
Prompt = Annotated[
    str | None,
    option(PROMPT, "TEXT", "What to answer or continue.", "--prompt", "-p", example='-p "Name three rivers."'),
]
PromptFile = Annotated[
    Path | None,
    option(
        PROMPT,
        "FILE",
        "Read the prompt from a file; it and standard input come before --prompt.",
        "--prompt-file",
        example="--prompt-file letter.txt",
    ),
]
System = Annotated[
    str | None,
    option(
        PROMPT, "TEXT", "System text of the conversation.", "--system", "-s", example='-s "Answer in one sentence."'
    ),
]
Raw = Annotated[
    bool,
    flag(
        PROMPT,
        "--raw",
        "Continue the prompt as it is, without the model's chat template.",
        example="--raw",
    ),
]

Profile = Annotated[
    str | None,
    option(
        MODEL,
        "NAME|FILE",
        "A profile with settings, by name or path.",
        "--profile",
        example="--profile code",
        autocompletion=complete_profiles,
    ),
]
Model = Annotated[
    str | None,
    option(
        MODEL,
        "SOURCE",
        "smollm2-135m, a folder, a .gguf file, or a hub id.",
        "--model",
        "-m",
        example="-m ./model.gguf",
        autocompletion=complete_models,
    ),
]
DraftModel = Annotated[
    str | None,
    option(
        MODEL,
        "SOURCE",
        "For --strategy speculative: a smaller model with the same tokenizer, named in the same ways.",
        "--draft-model",
        example="--draft-model ./small",
        autocompletion=complete_models,
    ),
]
Dtype = Annotated[
    str | None,
    _choice(
        MODEL,
        "model",
        "dtype",
        "Number format: auto, float32, bfloat16 or float16.",
        "--dtype",
        example="--dtype float32",
    ),
]
Weights = Annotated[
    str | None,
    _choice(
        MODEL,
        "model",
        "weights",
        "Weights that have 4 bits are computed with as such (stored) or in --dtype (full); auto: full in a batch, "
        "else stored.",
        "--weights",
        example="--weights full",
    ),
]
Device = Annotated[
    str | None,
    option(
        MODEL,
        "NAME",
        "Where it runs: auto, cpu, cuda, cuda:N, mps, or spread over all of them.",
        "--device",
        example="--device cuda:1",
    ),
]
Runner = Annotated[
    str | None,
    _choice(
        MODEL,
        "model",
        "runner",
        "What computes it: lean, our own forward pass for the Llama family; transformers; auto: lean where it can.",
        "--runner",
        example="--runner transformers",
    ),
]
Threads = Annotated[str | None, option(MODEL, "N|auto", "CPU threads.", "--threads", example="--threads 4")]

Strategy = Annotated[
    str | None,
    _choice(
        DECODING,
        "decoding",
        "strategy",
        f"Where guesses come from: {', '.join(STRATEGIES)}.",
        "--strategy",
        example="--strategy jacobi",
    ),
]
Drafters = Annotated[
    str | None,
    _choice(
        DECODING,
        "decoding",
        "drafters",
        f"What lookahead makes guesses from: any of {', '.join(DRAFTERS)}, with commas.",
        "--drafters",
        example="--drafters copies,n-grams",
    ),
]
K = Annotated[str | None, option(DECODING, "N|auto", "Guesses per step; auto: as many as pay.", "-k", example="-k 8")]
Init = Annotated[
    str | None,
    _choice(
        DECODING,
        "decoding",
        "init",
        "What a fresh guess is: random, copy-last or model.",
        "--init",
        example="--strategy jacobi --init model",
    ),
]
Refill = Annotated[
    str | None,
    _choice(
        DECODING,
        "decoding",
        "refill",
        "After a rejected guess: keep refined ones (carry) or start afresh (reinit).",
        "--refill",
        example="--strategy jacobi --refill reinit",
    ),
]
Temperature = Annotated[
    str | None,
    option(
        DECODING,
        "X",
        "0: always the likeliest token; higher: more varied.",
        "--temperature",
        "-t",
        example="-t 0.8",
    ),
]
TopP = Annotated[
    str | None,
    option(
        DECODING,
        "X",
        "Sample from the likeliest tokens that reach this probability.",
        "--top-p",
        example="-t 0.8 --top-p 0.9",
    ),
]
TopK = Annotated[
    str | None,
    option(DECODING, "N", "Sample from this many likeliest tokens.", "--top-k", example="-t 0.8 --top-k 40"),
]
MinP = Annotated[
    str | None,
    option(
        DECODING,
        "X",
        "Sample from tokens at least this fraction as likely as the likeliest.",
        "--min-p",
        example="-t 0.8 --min-p 0.05",
    ),
]
RepetitionPenalty = Annotated[
    str | None,
    option(DECODING, "X", "Above 1: repeat less.", "--repetition-penalty", example="--repetition-penalty 1.1"),
]
Seed = Annotated[
    str | None,
    option(
        DECODING,
        "N|random",
        "The same seed gives the same tokens, whatever makes the guesses; random draws one.",
        "--seed",
        example="-t 0.8 --seed 3",
    ),
]
MaxNewTokens = Annotated[
    str | None, option(DECODING, "N", "Most tokens to generate.", "--max-new-tokens", "-n", example="-n 500")
]
Stop = Annotated[
    list[str] | None,
    option(DECODING, "TEXT", "End before this text; may be repeated.", "--stop", example='--stop "User:"'),
]

Contestants = Annotated[
    list[str] | None,
    option(
        CONTEST,
        "NAME[:KEY=VALUE,...]",
        f"Who takes part, with settings; repeat it for more: {', '.join(GUESSING)}.",
        "--with",
        example="--with greedy --with jacobi:k=4",
        autocompletion=complete_contestants,
    ),
]

ToFile = Annotated[
    Path | None,
    option(
        OUTPUT,
        "FILE",
        "Write the result to a file, which is overwritten, instead of the screen.",
        "--output",
        "-o",
        example="-o story.txt",
    ),
]
Append = Annotated[
    bool,
    flag(OUTPUT, "--append", "Add to the file of --output instead.", example="-o story.txt --append"),
]
Color = Annotated[
    str | None,
    _choice(
        OUTPUT,
        "display",
        "color",
        "Colours: always, never, or auto: on a terminal, unless NO_COLOR is set.",
        "--color",
        example="--color always | less -R",
    ),
]
Theme = Annotated[
    str | None,
    _choice(
        OUTPUT,
        "display",
        "theme",
        "How accepted guesses are marked: default, light (for a light background), colorblind, or mono (no colours).",
        "--theme",
        example="--theme colorblind",
    ),
]
NoStats = Annotated[bool, flag(OUTPUT, "--no-stats", "No legend and summary after the text.", example="--no-stats")]
Verbose = Annotated[
    bool,
    flag(
        OUTPUT,
        "--verbose",
        "Also: where the model lies and how it is run, and a line for each drafter in the summary.",
        example="--verbose",
    ),
]
Quiet = Annotated[
    bool,
    flag(
        OUTPUT,
        "--quiet",
        "Nothing but the result: no notes, no progress, no legend and summary.",
        "-q",
        example="-q",
    ),
]
AsJson = Annotated[
    bool,
    flag(OUTPUT, "--json", "One JSON object: text, tokens, steps, statistics.", example="--json | jq .stats"),
]

Explain = Annotated[
    bool,
    flag(
        OUTPUT,
        "--explain",
        "Each step on a line: what was guessed, and what of it was right.",
        example="--explain --step-delay 0.5",
    ),
]
StepDelay = Annotated[
    float,
    option(
        OUTPUT,
        "SECONDS",
        "Wait so many seconds after each step, to follow it; times are told without that.",
        "--step-delay",
        example="--step-delay 0.5",
        parser=parse_delay,
        show_default=False,
    ),
]

SETTINGS: dict[str, tuple[str, tuple[str, str]]] = {
    "model": ("--model", ("model", "source")),
    "draft_model": ("--draft-model", ("draft", "source")),
    "dtype": ("--dtype", ("model", "dtype")),
    "weights": ("--weights", ("model", "weights")),
    "device": ("--device", ("model", "device")),
    "runner": ("--runner", ("model", "runner")),
    "threads": ("--threads", ("model", "threads")),
    "strategy": ("--strategy", ("decoding", "strategy")),
    "drafters": ("--drafters", ("decoding", "drafters")),
    "k": ("-k", ("decoding", "k")),
    "init": ("--init", ("decoding", "init")),
    "refill": ("--refill", ("decoding", "refill")),
    "temperature": ("--temperature", ("decoding", "temperature")),
    "top_p": ("--top-p", ("decoding", "top_p")),
    "top_k": ("--top-k", ("decoding", "top_k")),
    "min_p": ("--min-p", ("decoding", "min_p")),
    "repetition_penalty": ("--repetition-penalty", ("decoding", "repetition_penalty")),
    "seed": ("--seed", ("decoding", "seed")),
    "max_new_tokens": ("--max-new-tokens", ("decoding", "max_new_tokens")),
    "stop": ("--stop", ("decoding", "stop")),
    "system": ("--system", ("prompt", "system")),
    "raw": ("--raw", ("prompt", "template")),
    "no_stats": ("--no-stats", ("display", "stats")),
    "verbose": ("--verbose", ("display", "verbose")),
    "quiet": ("--quiet", ("display", "quiet")),
    "color": ("--color", ("display", "color")),
    "theme": ("--theme", ("display", "theme")),
}
"""Parameter of a command -> the flag as typed, and the key of the profile it sets."""

NOT_GIVEN: tuple[Any, ...] = (None, False, (), [])
"""What a command's parameter holds when its flag was not used."""


def given_options(parameters: Mapping[str, Any]) -> dict[tuple[str, Key], Any]:
    """What options set: (what to call it, key) -> value, from the parameters of a command (`Context.params`)."""
    from lookahead_cli.layers import parse_text

    given = {name: value for name, value in parameters.items() if name in SETTINGS and value not in NOT_GIVEN}
    flags: dict[tuple[str, Key], Any] = {}
    for name, value in given.items():
        flag, key = SETTINGS[name]
        flags[f"option {flag}", key] = parse_text(*key, value) if isinstance(value, str) else value
    if "stop" in given:
        flags["option --stop", SETTINGS["stop"][1]] = list(given["stop"])
    if "raw" in given:
        flags["option --raw", SETTINGS["raw"][1]] = "raw"
    if "no_stats" in given:
        flags["option --no-stats", SETTINGS["no_stats"][1]] = False
    return flags


def resolve_options(parameters: Mapping[str, Any]) -> Resolved:
    """Settings from the parameters of a command (`Context.params`), the environment and the profile.

    Raises:
        ProfileError: something is not allowed.
    """
    from lookahead_cli.layers import resolve

    return resolve(parameters.get("profile"), given_options(parameters))
