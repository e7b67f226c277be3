"""What takes time, on a terminal: a model being made ready, many prompts; silent in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Column
from rich.text import Text

from lookahead_cli.models.progress import ByteShare
from lookahead_cli.render.amounts import shown_bytes
from lookahead_cli.text.visible import visible

PATIENCE = 1.0
"""Seconds before a bar is drawn: what is over sooner needs none."""
BAR = 20
AMOUNTS = 22
"""Columns of the bar, and of what stands behind it."""


class ProgressStatus:
    """A spinner with the current activity; leaves nothing behind. Is a `Progress`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.status: Status | None = None

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        line = activity if fraction is None else f"{activity} {fraction:.0%}"
        if not self.console.is_terminal:
            return
        if self.status is None:
            self.status = self.console.status(Text(visible(line)))
            self.status.start()
        else:
            self.status.update(Text(visible(line)))

    def __enter__(self) -> ProgressStatus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is not None:
            self.status.stop()


class ProgressBar(ProgressStatus):
    """A spinner first; for what takes longer than PATIENCE, and says how far it is, a bar with percent and bytes."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.began = monotonic()
        self.bar: Progress | None = None
        self.activity = ""

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        if self.bar is None and (fraction is None or monotonic() - self.began < PATIENCE):
            super().__call__(activity, fraction)
        elif self.console.is_terminal:
            self._show(activity, fraction)

    def _show(self, activity: str, fraction: float | None) -> None:
        if self.bar is None:
            if self.status is not None:
                self.status.stop()
                self.status = None
            self.bar = Progress(
                TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
                BarColumn(bar_width=BAR),
                TextColumn("{task.fields[told]}", table_column=Column(no_wrap=True, min_width=AMOUNTS)),
                TimeRemainingColumn(compact=True),
                console=self.console,
                transient=True,
            )
            self.bar.start()
        told = "" if fraction is None else f"{fraction:.0%}"
        if isinstance(fraction, ByteShare):
            told += f", {shown_bytes(fraction.done)} of {shown_bytes(fraction.total)}"
        if activity != self.activity:  # each has a bar of its own: times begin anew
            self.activity = activity
            for task in self.bar.task_ids:
                self.bar.remove_task(task)
            self.bar.add_task(visible(activity), total=None, told=told)
        total = None if fraction is None else 1.0
        self.bar.update(self.bar.task_ids[0], total=total, completed=fraction or 0.0, told=told)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.bar is not None:
            self.bar.stop()


@contextmanager
def progress_bar(console: Console, total: int, noun: str) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, gone at the end; what it gives is called for each of the `total` things that is done."""
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(noun, total=total)
        yield lambda: bar.advance(task)
