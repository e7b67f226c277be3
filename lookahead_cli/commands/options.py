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


def option(panel: str, metavar: str, help_text: str, *flags: str, **more: Any) -> Any:
    """An option whose value is checked with the profile's keys, so that every layer gets the same message."""
    return typer.Option(*flags, metavar=metavar, help=help_text, rich_help_panel=panel, **more)


def flag(panel: str, name: str, help_text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help_text, rich_help_panel=panel)


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


def _choice(panel: str, section: str, key: str, help_text: str, *flags: str) -> Any:
    return option(panel, "NAME", help_text, *flags, autocompletion=complete_choices(section, key))


Prompt = Annotated[str | None, option(PROMPT, "TEXT", "What to answer or continue.", "--prompt", "-p")]
PromptFile = Annotated[Path | None, option(PROMPT, "FILE", "Read the prompt from a file.", "--prompt-file")]
System = Annotated[str | None, option(PROMPT, "TEXT", "System text of the conversation.", "--system", "-s")]
Raw = Annotated[
    bool, typer.Option("--raw", help="Continue the prompt as it is: no chat template.", rich_help_panel=PROMPT)
]

Profile = Annotated[
    str | None,
    option(MODEL, "NAME|FILE", "Profile with the settings.", "--profile", autocompletion=complete_profiles),
]
Model = Annotated[
    str | None,
    option(
        MODEL,
        "SOURCE",
        "smollm2-135m, a folder, a .gguf file or a hub id.",
        "--model",
        "-m",
        autocompletion=complete_models,
    ),
]
DraftModel = Annotated[
    str | None,
    option(
        MODEL,
        "SOURCE",
        "speculative: the smaller model that makes the guesses.",
        "--draft-model",
        autocompletion=complete_models,
    ),
]
Dtype = Annotated[str | None, _choice(MODEL, "model", "dtype", "auto, float32, bfloat16 or float16.", "--dtype")]
Weights = Annotated[
    str | None, _choice(MODEL, "model", "weights", "stored (4-bit weights stay 4-bit), full or auto.", "--weights")
]
Device = Annotated[str | None, option(MODEL, "NAME", "auto, cpu, cuda, cuda:N, mps or spread.", "--device")]
Runner = Annotated[
    str | None, _choice(MODEL, "model", "runner", "What computes it: auto, lean or transformers.", "--runner")
]
Threads = Annotated[str | None, option(MODEL, "N|auto", "CPU threads.", "--threads")]

Strategy = Annotated[
    str | None,
    _choice(DECODING, "decoding", "strategy", f"Where guesses come from: {', '.join(STRATEGIES)}.", "--strategy"),
]
Drafters = Annotated[
    str | None,
    _choice(DECODING, "decoding", "drafters", f"lookahead: any of {','.join(DRAFTERS)}.", "--drafters"),
]
K = Annotated[str | None, option(DECODING, "N|auto", "Guesses per step.", "-k")]
Init = Annotated[
    str | None,
    _choice(DECODING, "decoding", "init", "What a fresh guess is: random, copy-last or model.", "--init"),
]
Refill = Annotated[
    str | None,
    _choice(
        DECODING,
        "decoding",
        "refill",
        "After a rejected guess: keep refined ones (carry) or start afresh (reinit).",
        "--refill",
    ),
]
Temperature = Annotated[
    str | None, option(DECODING, "X", "0: the likeliest token; higher: more varied.", "--temperature", "-t")
]
TopP = Annotated[
    str | None, option(DECODING, "X", "Sample from the likeliest tokens that reach this probability.", "--top-p")
]
TopK = Annotated[str | None, option(DECODING, "N", "Sample from this many likeliest tokens.", "--top-k")]
MinP = Annotated[
    str | None,
    option(DECODING, "X", "Sample from tokens at least this fraction as likely as the likeliest.", "--min-p"),
]
RepetitionPenalty = Annotated[str | None, option(DECODING, "X", "Above 1: repeat less.", "--repetition-penalty")]
Seed = Annotated[str | None, option(DECODING, "N|random", "Same seed, same tokens.", "--seed")]
MaxNewTokens = Annotated[str | None, option(DECODING, "N", "Most tokens to generate.", "--max-new-tokens", "-n")]
Stop = Annotated[list[str] | None, option(DECODING, "TEXT", "End before this text (may be repeated).", "--stop")]

Contestants = Annotated[
    list[str] | None,
    option(
        CONTEST,
        "NAME[:KEY=VALUE,...]",
        f"A strategy with settings (repeat for more): {', '.join(GUESSING)}.",
        "--with",
        autocompletion=complete_contestants,
    ),
]

NoStats = Annotated[
    bool, typer.Option("--no-stats", help="No legend and summary after the text.", rich_help_panel=OUTPUT)
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="A line for each drafter in the summary.", rich_help_panel=OUTPUT)
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="One JSON object: text, tokens, steps, statistics.", rich_help_panel=OUTPUT),
]

Explain = Annotated[
    bool,
    flag(OUTPUT, "--explain", "Each step on a line: what was guessed, and what of it was right."),
]
StepDelay = Annotated[
    float,
    option(
        OUTPUT, "SECONDS", "Wait so long after each step, to follow it.", "--step-delay", parser=parse_delay,
        show_default=False,
    ),
]  # fmt: skip

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
