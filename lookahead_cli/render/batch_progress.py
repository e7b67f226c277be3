"""How far a batch is, on stderr: a line that changes on a terminal, elsewhere a line now and then."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.status import Status
from rich.text import Text

from lookahead_cli.batch.tally import Tally
from lookahead_cli.render.progress import duration
from lookahead_cli.render.summary import SEPARATOR

SECONDS_BETWEEN_LINES = 60.0
SECONDS_BETWEEN_PICTURES = 0.2


class BatchProgress:
    """Shows a tally while it grows."""

    def __init__(self, console: Console, tally: Tally, *, live: bool) -> None:
        """Without `live` nothing is drawn in place: results go to the same terminal."""
        self.console = console
        self.tally = tally
        self.status = Status("", console=console) if live and console.is_terminal and not console.quiet else None
        self.silent = console.quiet or (console.is_terminal and not live)
        self.told_at = monotonic()

    def show(self) -> None:
        """The tally has changed, or time has passed."""
        now = monotonic()
        pause = SECONDS_BETWEEN_LINES if self.status is None else SECONDS_BETWEEN_PICTURES
        if self.silent or now - self.told_at < pause:
            return
        self.told_at = now
        line = SEPARATOR.join(parts(self.tally))
        with suppress(OSError):  # results must not be lost because nobody can read this
            if self.status is None:
                self.console.print(line)
            else:
                self.status.update(Text(line))

    def __enter__(self) -> BatchProgress:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is not None:
            with suppress(OSError):
                self.status.stop()


def parts(tally: Tally) -> list[str]:
    """Done, failed, speeds, time left."""
    found = [f"{tally.done + tally.known:,} done"]
    if tally.failed:
        found.append(f"{tally.failed:,} failed")
    if tally.steps:
        found += [f"{tally.tokens_per_second:.1f} tokens/s", f"{tally.tokens_per_step:.2f} tokens per step"]
    left = tally.seconds_left
    if left is not None:
        found.append(f"{duration(left)} left")
    return found
