"""Each step on a line: what was guessed, what became of it, and how long that took."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.render import palette
from lookahead_cli.render.live import LiveRenderer
from lookahead_cli.render.step_notation import (
    CLOSE,
    NO_SIGNS,
    OPEN,
    OR,
    SIGNS,
    THEN,
    Piece,
    Role,
    fitted_pieces,
    laid_out,
    shortened,
)
from lookahead_cli.render.terminal import WIDTH_IN_PIPE, has_color

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort
    from lookahead_cli.text.token_labels import Label

STYLES = {
    Role.ACCEPTED: palette.ACCEPTED,
    Role.REJECTED: palette.REJECTED,
    Role.BONUS: palette.BONUS,
    Role.ASIDE: palette.ASIDE,
}
LEAST_CELLS = 20
"""For the tokens of a line, however narrow the terminal is."""
WIDEST_LAST_TOKEN, NARROWEST_LAST_TOKEN = 12, 4
SEPARATOR = "   "
INTO = "▸"
"""Between the last token and what came after it."""
SPELLED_OUT = str.maketrans(
    {"✓": "=", "✗": "-", "│": "|", "·": ".", "…": "...", "▸": ">", "␣": "_", "⏎": "\\n", "⇥": "\\t", "⟨": "<",
     "⟩": ">", "◌": ""}
)  # fmt: skip
"""Our signs for a terminal that knows few characters, where most of them would become the same question mark."""


class ExplainRenderer:
    """Shows the steps, then the whole text and the summary."""

    def __init__(self, output: Console, notes: Console, settings: Settings, last_token: int, label: Label) -> None:
        """`last_token` is the last one of the prompt: the first step goes on from it."""
        self.output = output
        self.text = LiveRenderer(output, notes, settings)
        self.has_legend = settings.display.stats
        self.signs = NO_SIGNS if has_color(output) else SIGNS
        self.knows_signs = output.encoding.startswith("utf")
        self.last_token = last_token
        self.label = label
        self.numbers = count(1)

    @property
    def width(self) -> int:
        """Columns of a line."""
        return self.output.width if self.output.is_terminal else WIDTH_IN_PIPE

    def show(self, step: StepEvent) -> None:
        number = next(self.numbers)
        if number == 1 and self.has_legend:
            for line in self._legend():
                self.output.print(line)
        self._print(*self._lines(number, step))
        self.last_token = step.token_ids[-1]

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        if generation.steps:
            self._print(Text())
        for step in generation.steps:
            self.text.show(step)
        self.text.close(generation, cut_short)

    def _lines(self, number: int, step: StepEvent) -> list[Text]:
        """On a terminal as many lines as it takes, in a pipe a single one."""
        before = self._before(number, step)
        indent = cell_len(before.plain)
        room = max(self.width - indent, LEAST_CELLS)
        parts = fitted_pieces(step, self.label, self.signs, room)
        lines = laid_out(parts, room) if self.output.is_terminal else [parts]
        return [self._line(before if place == 0 else Text(" " * indent), line) for place, line in enumerate(lines)]

    def _before(self, number: int, step: StepEvent) -> Text:
        """Number, time, and the token that the step goes on from."""
        cells = max(min(WIDEST_LAST_TOKEN, self.width // 7), NARROWEST_LAST_TOKEN)
        last = self._spelled(shortened(self.label(self.last_token), cells))
        filled = " " * (cells - cell_len(last)) + last
        counted = (f"{number:>4} {step.seconds * 1000:7.1f} ms  ", palette.ASIDE)
        return Text.assemble(counted, filled, (self._spelled(f" {INTO} "), palette.ASIDE))

    def _line(self, before: Text, parts: list[Piece]) -> Text:
        line = before.copy()
        for place, piece in enumerate(parts):
            line.append(" " if piece.apart and place else "")
            self._append(line, piece.lead, palette.ASIDE)
            self._append(line, piece.text, STYLES[piece.role])
            self._append(line, piece.tail, palette.ASIDE)
        return line

    def _append(self, line: Text, text: str, style: str) -> None:
        line.append(self._spelled(text), style)

    def _spelled(self, text: str) -> str:
        """`text` in characters that the output knows."""
        if self.knows_signs:
            return text
        return text.translate(SPELLED_OUT).encode(self.output.encoding, "replace").decode(self.output.encoding)

    def _legend(self) -> list[Text]:
        """What the lines mean, in lines of at most 80 columns."""
        accepted, bonus, rejected = (self.signs[role] for role in (Role.ACCEPTED, Role.BONUS, Role.REJECTED))
        signs = Text()
        for text, style in (
            (accepted, palette.ASIDE), ("accepted guess", palette.ACCEPTED), (SEPARATOR, palette.ASIDE),
            (bonus, palette.ASIDE), ("the model's own token", palette.BONUS), (SEPARATOR, palette.ASIDE),
            (OPEN + rejected, palette.ASIDE), ("rejected", palette.REJECTED),
            (OR + rejected, palette.ASIDE), ("guesses", palette.REJECTED), (f"{CLOSE} for that place", palette.ASIDE),
        ):  # fmt: skip
            self._append(signs, text, style)
        about = f"Each line is a step: the last token {INTO} what one pass of the model says after it."
        notation = (f"a{THEN}b: b after a", "␣ blank", "⏎ line break", "(copies 2/5): 2 of 5 guesses accepted")
        return [
            Text(self._spelled(about), palette.ASIDE),
            signs,
            Text(self._spelled(SEPARATOR.join(notation)), palette.ASIDE),
            Text(),
        ]

    def _print(self, *lines: Text) -> None:
        for line in lines:
            self.output.print(line, soft_wrap=True)
