"""Text as it is decided, each token in the colour of where it came from."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.render.palette import style_of
from lookahead_cli.render.summary import print_summary
from lookahead_cli.render.terminal import colors_of
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort


class LiveRenderer:
    """Streams to a terminal. The terminal itself wraps long lines, so that copied text has no breaks of ours."""

    def __init__(self, output: Console, notes: Console, settings: Settings) -> None:
        self.file: TextIO = output.file  # type: ignore[assignment]
        self.output = output
        self.colors = colors_of(output)
        self.notes = notes
        self.settings = settings
        self.at_line_start = True

    def show(self, step: StepEvent) -> None:
        pieces = zip(step.texts, step.provenance, strict=True)
        for provenance, run in groupby(pieces, key=itemgetter(1)):
            self._write("".join(text for text, _ in run), provenance)
        self.file.flush()

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        if not self.at_line_start:
            self.file.write("\n")
            self.file.flush()
        if not self.settings.display.stats:
            return
        with suppress(OSError):  # the text is what counts
            print_summary(self.notes, generation, self.settings, cut_short)

    def _write(self, text: str, provenance: str) -> None:
        if text:
            self.file.write(style_of(self.output, provenance).render(visible(text), color_system=self.colors))
            self.at_line_start = text.endswith("\n")
