"""What takes time, on a terminal: a model being made ready, many prompts; silent in a pipe."""

from __future__ import annotations

import signal
from threading import Lock, Timer
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from lookahead_cli.models.progress import ByteShare
from lookahead_cli.render.amounts import shown_bytes
from lookahead_cli.text.visible import visible

SECONDS_UNSEEN = 0.5
"""What is over sooner is not shown: it would only flicker."""
SECONDS_WORTH_A_FRACTION = 9.95
"""Below, "9.9 s" says more than "0:10"."""
BAR_WIDTH = 24
"""Cells."""


class ProgressStatus:
    """The current activity with the time it has taken, and a bar where it is known how much is done. Is a `Progress`.

    Nothing is drawn for the first moment, and nothing of it stays.
    """

    def __init__(self, console: Console, unseen_for: float = SECONDS_UNSEEN) -> None:
        self.unwanted = console.quiet or not console.is_terminal or console.is_dumb_terminal
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            KnownBar(None, table_column=Column(max_width=BAR_WIDTH)),
            TextColumn("{task.fields[share]}", table_column=Column(no_wrap=True)),
            Times(Column(no_wrap=True)),
            console=console,
            transient=True,
        )
        self.task: Task | None = None
        self.timer = Timer(unseen_for, self._draw)
        self.timer.daemon = True
        self.lock = Lock()
        self.over = False

    def __call__(self, activity: str, fraction: float | None = None) -> None:
        if self.unwanted:
            return
        activity = visible(activity)
        with self.lock:
            if self.task is not None and not is_next(self.task, activity, fraction):
                self.bar.update(self.task.id, description=activity, completed=fraction, share=share(fraction))
                return
            if self.task is None:
                self.timer.start()
            else:
                self.bar.remove_task(self.task.id)
            started = self.bar.add_task(activity, total=None if fraction is None else 1.0, share=share(fraction))
            self.bar.update(started, completed=fraction)
            self.task = self.bar.tasks[0]

    def _draw(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # In this thread, and the one it starts, Ctrl-C would be heard without waking the one that can react to it.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with self.lock:
            if not self.over:
                self.bar.start()

    def stop(self) -> None:
        """It is over; what comes after is not shown any more."""
        self.timer.cancel()
        with self.lock:
            self.over = True
            if self.bar.live.is_started:
                self.bar.stop()

    def __enter__(self) -> ProgressStatus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def is_next(task: Task, description: str, fraction: float | None) -> bool:
    """Whether this begins something else, with a clock of its own. What says how much is done goes on for as long as
    that grows, whatever it is called: "3 of 24 prompts"."""
    if fraction is None or task.total is None:
        return (fraction is None) != (task.total is None) or description != task.description
    return fraction < task.completed


def share(fraction: float | None) -> str:
    """ "40%", with the bytes if it is one of bytes."""
    if fraction is None:
        return ""
    if not isinstance(fraction, ByteShare):
        return f"{fraction:.0%}"
    return f"{fraction:.0%}, {shown_bytes(fraction.done)} of {shown_bytes(fraction.total)}"


class KnownBar(BarColumn):
    """A bar, where it is known how much is done."""

    def render(self, task: Task) -> RenderableType:  # type: ignore[override] # or nothing
        return Text() if task.total is None else super().render(task)


class Times(ProgressColumn):
    """ "0:12, 1:40 left"."""

    def render(self, task: Task) -> Text:
        left = None if task.total is None else task.time_remaining
        return Text(duration(task.elapsed or 0) + ("" if left is None else f", {duration(left)} left"), style="dim")


def duration(seconds: float) -> str:
    """ "1:05" for a minute and five seconds, "2:00:00" for two hours."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def spent(seconds: float) -> str:
    """The same for what is over: "0.6 s" where a clock would show next to nothing."""
    return f"{seconds:.1f} s" if seconds < SECONDS_WORTH_A_FRACTION else duration(seconds)
