"""Legend and summary after a generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.text import Text

from lookahead_cli.decoding.events import MODEL
from lookahead_cli.render.palette import style_of
from lookahead_cli.render.terminal import has_color

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import DecodingSettings, Settings
    from lookahead_cli.render import CutShort

SWATCH = "■"
SEPARATOR = " · "
ENDINGS = {
    "eos": "the model ended the text",
    "stop": "stop string",
    "length": "max_new_tokens reached",
    "context": "context full",
}


def print_summary(
    console: Console,
    generation: Generation,
    settings: Settings,
    cut_short: CutShort | None,
    *,
    below_text: bool = True,
) -> None:
    """Legend, counts, speeds and the reason of the end, a line each; where no text is above it, no legend either."""
    decoding = settings.decoding
    if below_text:
        console.print()
        if has_color(console):
            console.print(legend(console, generation))
    lines = [counts(generation), speeds(generation), ending(generation, decoding, cut_short)]
    if settings.display.verbose:
        lines[1:1] = drafter_lines(generation)
    for line in lines:
        console.print(Text(SEPARATOR.join(line), style="dim"))


def drafter_lines(generation: Generation) -> list[list[str]]:
    """For each drafter what it drafted and what of that was accepted, the most useful one first."""
    tokens = generation.statistics.tokens
    ranked = sorted(generation.statistics.drafters.items(), key=lambda item: -item[1].accepted)
    return [
        [
            name,
            f"{counted(counts.drafted, 'guess', 'guesses')}",
            f"{counts.accepted} accepted ({counts.accepted / counts.drafted:.1%})",
            f"{counts.accepted / tokens:.1%} of the tokens",
        ]
        for name, counts in ranked
    ]


def legend(console: Console, generation: Generation) -> Text:
    """What each colour in the text above means."""
    drafters = sorted({source for step in generation.steps for source in step.provenance} - {MODEL})
    guesses = [swatch(style_of(console, drafter), drafter) for drafter in drafters]
    own = swatch(style_of(console, MODEL), "the model's own token")
    return Text.assemble("accepted guesses: ", Text(SEPARATOR).join([*guesses, own])) if guesses else own


def swatch(style: Style, name: str) -> Text:
    """A name with its colour in front of it; what is no colour, a line below for one, is better seen on the name."""
    return Text.assemble((SWATCH, style), " ", (name, style.without_color))


def counts(generation: Generation) -> list[str]:
    """How many tokens, steps and guesses."""
    stats = generation.statistics
    parts = [
        f"{counted(stats.tokens, 'token')} in {counted(stats.steps, 'step')}",
        f"{stats.tokens_per_step:.2f} tokens per step",
    ]
    if stats.acceptance_rate is not None:
        parts.append(
            f"{stats.accepted} of {counted(stats.drafted, 'guess', 'guesses')} accepted ({stats.acceptance_rate:.1%})"
        )
    return parts


def speeds(generation: Generation) -> list[str]:
    """How fast the prompt was read, the text was written, and the first token came."""
    stats = generation.statistics
    parts = [f"prefill {stats.prefill_tokens_per_second:.0f} tokens/s"] if stats.prefill_tokens else []
    parts.append(f"decode {stats.tokens_per_second:.1f} tokens/s")
    if stats.time_to_first_token is not None:
        parts.append(f"first token after {stats.time_to_first_token:.2f} s")
    return parts


def ending(generation: Generation, decoding: DecodingSettings, cut_short: CutShort | None) -> list[str]:
    """Why it ended; under temperature also the seed, with which the same text can be had again."""
    parts = [cut_short or ENDINGS[generation.finish_reason or "eos"]]
    return [*parts, f"seed {decoding.seed}"] if decoding.temperature else parts


def counted(number: int, noun: str, plural: str = "") -> str:
    """ "1 token", "2 tokens"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
