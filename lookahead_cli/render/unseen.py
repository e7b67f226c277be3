"""A generation whose text is not on the screen, because it goes to a file or is shown when it is over."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console

from lookahead_cli.render.plain import PlainRenderer
from lookahead_cli.render.progress import ProgressStatus
from lookahead_cli.render.summary import print_summary

if TYPE_CHECKING:
    from lookahead_cli.decoding.events import StepEvent
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort, Renderer


class UnseenRenderer:
    """Leaves the text to another renderer, tells on a terminal how far it is and, for a bare text, what it came to."""

    def __init__(
        self,
        other: Renderer,
        notes: Console,
        progress: ProgressStatus,
        settings: Settings,
        generation: Generation,
    ) -> None:
        self.other = other
        self.notes = notes
        self.progress = progress
        self.settings = settings
        self.generation = generation
        self.most = settings.decoding.max_new_tokens
        if isinstance(settings.model.context_length, int):
            self.most = min(self.most, settings.model.context_length - len(generation.prompt_ids))
        # Others sum up themselves, or the statistics are part of what they write.
        self.sums_up = isinstance(other, PlainRenderer) and notes.is_terminal and settings.display.stats

    def show(self, step: StepEvent) -> None:
        self.other.show(step)
        tokens = self.generation.statistics.tokens
        self.progress(f"{tokens:,} of at most {self.most:,} tokens", min(tokens / self.most, 1.0))

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        self.progress.stop()
        self.other.close(generation, cut_short)
        if self.sums_up:
            with suppress(OSError):  # the text is what counts
                print_summary(self.notes, generation, self.settings, cut_short, below_text=False)
