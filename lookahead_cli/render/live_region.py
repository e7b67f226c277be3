"""The lower end of a terminal, drawn again and again in place; what stands above it is never touched."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from types import TracebackType

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.control import Control
from rich.segment import ControlType, SegmentLines

FRAME_SECONDS = 0.08
"""Between two pictures: each costs some milliseconds that nobody decodes in."""


class LiveRegion:
    """A picture of something that changes; leaves nothing behind.

    `rich.live.Live` erases its last picture before it draws the next one, which flickers in two panels full of text,
    and after the terminal was resized it moves up by the height the picture had: some terminals wrap what they show
    anew then, others do not, so that is too far or not far enough. Here lines are written over each other, and after a
    change of size the last picture stays where it is, with the next one below it.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.height = 0
        """Lines of the last picture; the cursor is on the line below them."""
        self.size: ConsoleDimensions | None = None
        """Of the terminal, when that was drawn."""
        self.drawn_at = -FRAME_SECONDS

    def draw(self, make: Callable[[], RenderableType]) -> None:
        """Show what `make` gives, unless the last picture is too fresh for that."""
        if monotonic() - self.drawn_at < FRAME_SECONDS:
            return
        size = self.console.size
        if self.size != size:
            self.height, self.size = 0, size
        lines = self.console.render_lines(make())[: size.height - 1]
        with self.console:  # one write
            if len(lines) < self.height:
                self._erase()
            up = [(ControlType.CURSOR_UP, self.height)] * bool(self.height)
            self.console.control(Control(ControlType.CARRIAGE_RETURN, *up))  # what was typed has moved the cursor
            self.console.print(SegmentLines(lines, new_lines=True), end="")
        self.height = len(lines)
        self.drawn_at = monotonic()

    def _erase(self) -> None:
        clear = (ControlType.ERASE_IN_LINE, 2)
        typed = (ControlType.CARRIAGE_RETURN, clear)  # a terminal shows Ctrl-C as ^C
        self.console.control(Control(*typed, *((ControlType.CURSOR_UP, 1), clear) * self.height))
        self.height = 0

    def __enter__(self) -> LiveRegion:
        self.console.show_cursor(False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.size == self.console.size:
            self._erase()
        self.console.show_cursor(True)
