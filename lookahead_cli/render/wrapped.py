"""Text that grows, wrapped to a width: only its last paragraph is worked out anew."""

from __future__ import annotations

from rich.console import Console
from rich.style import Style
from rich.text import Text

from lookahead_cli.text.visible import visible

TAB = 4


class WrappedText:
    """Lines of at most `width` cells."""

    def __init__(self, console: Console, width: int) -> None:
        self.console = console
        self.width = max(width, 2)  # a wide character must fit
        self.finished: list[Text] = []
        """Lines of the paragraphs that have ended."""
        self.paragraph = Text()

    def add(self, text: str, style: Style) -> None:
        """Go on with `text`; what it must not do to a terminal is made visible."""
        shown = visible(text)
        if not self.console.encoding.startswith("utf"):
            # What the terminal gets signs for instead is as wide as those: signs of no width would be missed.
            shown = shown.encode(self.console.encoding, "replace").decode(self.console.encoding)
        for place, part in enumerate(shown.split("\n")):
            if place:
                self.finished += self._wrap()
                self.paragraph = Text()
            self.paragraph.append(part, style)

    @property
    def lines(self) -> list[Text]:
        """All lines so far."""
        return [*self.finished, *self._wrap()]

    def tail(self, rows: int) -> list[Text]:
        """The last `rows` lines, filled up at the end."""
        lines = self.lines[-rows:]
        return lines + [Text()] * (rows - len(lines))

    def _wrap(self) -> list[Text]:
        return list(self.paragraph.wrap(self.console, self.width, tab_size=TAB)) or [Text()]
