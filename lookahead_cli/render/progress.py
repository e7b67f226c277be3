"""What takes time while a model is being made ready, on a terminal; silent in a pipe."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
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
