"""What takes time, on a terminal: a model being made ready, many prompts; silent in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.text import Text

from lookahead_cli.text.visible import visible


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


@contextmanager
def progress_bar(console: Console, total: int, noun: str) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, gone at the end; what it gives is called for each of the `total` things that is done."""
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(noun, total=total)
        yield lambda: bar.advance(task)
