"""What a comparison came to: a table, whether the tokens are the same, and where they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from lookahead_cli.decoding.events import MODEL
from lookahead_cli.render.palette import BAD, GOOD, style_of
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.bench.contestants import Contestant
    from lookahead_cli.bench.difference import Difference
    from lookahead_cli.bench.outcome import Deviation, Outcome

WIDE = 84
"""Columns from which the table has all it can say."""
NARROW = 36
"""Columns below which it is left with the last two of its numbers, or there would be no room for names."""
LONGEST_BAR = 40
"""Cells."""
NUMBERS = 12
"""Cells that the numbers behind a bar take."""


def outcome_table(outcomes: Sequence[Outcome], width: int) -> Table:
    """A line for each contestant; on a narrow terminal without what can be worked out from the rest."""
    wide = width >= WIDE
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0) if wide else 0)
    table.add_column("strategy", overflow="fold")
    headings = ["tokens\n/step", "tokens\n/s", "speed", "tokens"]
    if wide:
        headings[:0] = ["prefill\nseconds", "decode\nseconds", "tokens\n ", "steps\n "]
        headings[-1] = "tokens are"
    if width < NARROW:
        del headings[:2]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        statistics = outcome.generation.statistics
        cells = [
            f"{statistics.tokens_per_step:.2f}",
            f"{statistics.tokens_per_second:.1f}",
            f"{outcome.speed:.2f}x",
            agreement(outcome) if wide else "differ" if outcome.difference else "same",
        ]
        if wide:
            seconds = (f"{statistics.prefill_seconds:.2f}", f"{statistics.decode_seconds:.2f}")
            cells[:0] = [*seconds, str(statistics.tokens), str(statistics.steps)]
        if width < NARROW:
            del cells[:2]
        table.add_row(visible(outcome.contestant.name), *cells)
    return table


def agreement(outcome: Outcome) -> str:
    """Whether the tokens are those of the reference, in as few words as a table has room for."""
    if outcome.difference is not None:
        return f"other from {ordinal(outcome.difference)}"
    return "the measure" if outcome.is_reference else "the same"


def verdicts(outcomes: Sequence[Outcome]) -> list[Text]:
    """Sentences on whose tokens are the same, and one for each contestant whose tokens are not."""
    others = [outcome for outcome in outcomes if not outcome.is_reference]
    same = [outcome for outcome in others if outcome.difference is None]
    lines = identical([outcome.contestant for outcome in same])
    return lines + [different(each.contestant, each.difference) for each in others if each.difference is not None]


def identical(contestants: Sequence[Contestant]) -> list[Text]:
    """A sentence for each reference on who gave its tokens."""
    names: dict[str, list[str]] = {}
    for contestant in contestants:
        names.setdefault(measure(contestant), []).append(visible(contestant.name))
    return [
        Text.assemble(("identical", GOOD), f": {', '.join(alike)} gave exactly the tokens of {reference}")
        for reference, alike in names.items()
    ]


def different_somewhere(deviation: Deviation) -> Text:
    """The same for many prompts: the first one, and how many tokens of all."""
    count = f"; {deviation.differing} of {deviation.length} tokens of all prompts are others"
    return different(deviation.contestant, deviation.difference, deviation.place, count)


def different(contestant: Contestant, difference: Difference, place: str = "", count: str = "") -> Text:
    """What is where, how near a tie the model was there, how many tokens are others, and whether it may be so."""
    reference = measure(contestant)
    count = count or f"; {difference.differing} of {difference.length} tokens are others"
    where = f" for {visible(place)}" if place else ""
    gap = difference.gap
    tie = "" if gap is None else f"; the model's two best logits there are {gap:.3g} apart"
    text = (
        f": {visible(contestant.name)} parts from {reference} at {ordinal(difference)} of the output{where}: "
        f"{quoted(difference.found)} where {reference} has {quoted(difference.expected)}{tie}{count}"
    )
    if contestant.exempt:
        return Text.assemble(("different", "bold"), text, f", as it may: it {contestant.exempt}")
    return Text.assemble(("DIFFERENT", BAD), text)


def measure(contestant: Contestant) -> str:
    """The name of the contestant that this one is held against."""
    return visible(contestant.held_against.name)


def ordinal(difference: Difference) -> str:
    return f"token {difference.position + 1}"


def quoted(token: str) -> str:
    """A token that can be read, whatever it is made of."""
    return '"' + visible(token).replace("\n", "␊").replace("\t", "␉") + '"'


def gains(outcome: Outcome) -> Text:
    """How much faster, and how many forward passes fewer."""
    statistics, reference = outcome.generation.statistics, outcome.reference.statistics
    share = f" ({outcome.steps_saved / reference.steps:.0%} fewer)" if outcome.steps_saved > 0 else ""
    return Text.assemble(
        f"{visible(outcome.contestant.name)}: ",
        (f"{outcome.speed:.2f} times as fast", "bold"),
        f" · {reference.steps} steps became {statistics.steps}{share} · prefill apart: "
        f"{reference.prefill_seconds:.2f} s and {statistics.prefill_seconds:.2f} s",
    )


def provenance_bars(console: Console, outcome: Outcome) -> list[Text]:
    """A bar for each source of tokens, the largest first."""
    sources = Counter(source for step in outcome.generation.steps for source in step.provenance).most_common()
    if not sources:
        return []
    widest = max(len(label(source)) for source, _ in sources)
    longest = max(min(console.width - widest - NUMBERS, LONGEST_BAR), 1)
    block = "█" if console.encoding.startswith("utf") else "#"
    lines = []
    for source, count in sources:
        bar = block * max(round(longest * count / sources[0][1]), 1)
        style = style_of(console, source)
        lines.append(
            Text.assemble(
                (label(source), style.without_color), " " * (widest - len(label(source)) + 1),
                (bar, Style(color=style.color)), f" {count} ({count / outcome.generation.statistics.tokens:.0%})",
            )
        )  # fmt: skip
    return lines


def label(source: str) -> str:
    """What a source is called on screen."""
    return "the model's own" if source == MODEL else source


def fastest(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The fastest of those that are held against another and keep what they promise, where there is a speed to tell."""
    worthy = [outcome for outcome in outcomes if outcome.speed and not (outcome.is_reference or outcome.difference)]
    return max(worthy, key=lambda outcome: outcome.speed, default=None)
