"""Legend and summary after a generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lookahead_cli.decoding.events import MODEL
from lookahead_cli.render.palette import style_of
from lookahead_cli.render.terminal import has_color

if TYPE_CHECKING:
    from lookahead_cli.session import Generation

SWATCH = "■"
SEPARATOR = " · "
ENDINGS = {
    "eos": "the model ended the text",
    "stop": "stop string",
    "length": "max_new_tokens reached",
    "context": "context full",
}


def print_summary(console: Console, generation: Generation, interrupted: bool) -> None:
    """Legend, counts, speeds and the reason of the end, on up to three lines."""
    console.print()
    if has_color(console):
        console.print(legend(generation))
    for line in summary_lines(generation, interrupted):
        console.print(Text(line, style="dim"))


def legend(generation: Generation) -> Text:
    """What each colour in the text above means."""
    drafters = sorted({source for step in generation.steps for source in step.provenance} - {MODEL})
    parts = [Text.assemble((SWATCH, style_of(drafter)), f" accepted guess ({drafter})") for drafter in drafters]
    parts.append(Text.assemble((SWATCH, style_of(MODEL)), " the model's own token"))
    return Text(SEPARATOR).join(parts)


def summary_lines(generation: Generation, interrupted: bool) -> list[str]:
    """The summary in words, without colour."""
    stats = generation.statistics
    rate = "" if stats.acceptance_rate is None else f" ({stats.acceptance_rate:.1%})"
    counts = [
        f"{_count(stats.tokens, 'token')} in {_count(stats.steps, 'step')}",
        f"{stats.tokens_per_step:.2f} tokens per step",
        f"{stats.accepted} of {_count(stats.drafted, 'guess', 'guesses')} accepted{rate}",
    ]
    if stats.time_to_first_token is None:
        first = "no token yet"
    else:
        first = f"first token after {stats.time_to_first_token:.2f} s"
    ending = "interrupted" if interrupted else ENDINGS.get(generation.finish_reason or "", "")
    speeds = [
        f"prefill {stats.prefill_tokens_per_second:.0f} tokens/s",
        f"decode {stats.tokens_per_second:.1f} tokens/s",
        first,
        ending,
    ]
    return [SEPARATOR.join(counts), SEPARATOR.join(speeds)]


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
