"""A program in a real pseudo-terminal, and the screen it draws on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pexpect
import pyte

COLUMNS, LINES = 120, 30
LOOKAHEAD = [sys.executable, "-m", "lookahead_cli"]
PATIENCE = 30
"""Seconds: importing torch on a busy machine takes a while."""


class Screen:
    """Lookahead (or another program) with some arguments, and what the screen shows of it."""

    def __init__(
        self,
        *arguments: str,
        env: dict[str, str],
        columns: int = COLUMNS,
        lines: int = LINES,
        program: Sequence[str] = LOOKAHEAD,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, lines, history=10_000)
        self.stream = pyte.Stream(self.screen)
        self.process = pexpect.spawn(
            program[0], [*program[1:], *arguments], dimensions=(lines, columns), env=env, timeout=PATIENCE,
            encoding="utf-8",
        )  # fmt: skip

    def show_before(self, text: str) -> None:
        """Have lines on the screen that were there before the program."""
        self.stream.feed(text)

    def wait_for(self, pattern: str) -> None:
        self.process.expect(pattern)
        self.stream.feed(self.process.before + self.process.after)

    def wait_for_end(self) -> int:
        self.process.expect(pexpect.EOF)
        self.stream.feed(self.process.before)
        self.process.close()
        return int(self.process.exitstatus if self.process.exitstatus is not None else -self.process.signalstatus)

    def resize(self, columns: int, lines: int) -> None:
        """As if the window of the terminal was drawn larger or smaller."""
        self.screen.resize(lines, columns)
        self.process.setwinsize(lines, columns)

    @property
    def rows(self) -> list[str]:
        """The lines on screen that are not empty."""
        return [row.rstrip() for row in self.screen.display if row.strip()]

    @property
    def all_rows(self) -> list[str]:
        """The same with all that has gone out of sight at the top."""
        gone = ["".join(line[column].data for column in range(max(line, default=-1) + 1)) for line in self._history]
        return [row.rstrip() for row in gone if row.strip()] + self.rows

    @property
    def _history(self) -> list[dict[int, pyte.screens.Char]]:
        return list(self.screen.history.top)

    def color_at(self, row: int, column: int) -> str:
        return str(self.screen.buffer[row][column].fg)

    def underlined_text(self) -> str:
        """All characters on screen that are underlined."""
        cells = [
            self.screen.buffer[row][column] for row in range(self.screen.lines) for column in range(self.screen.columns)
        ]
        return "".join(cell.data for cell in cells if cell.underscore)


def terminal_environment(folder: Path) -> dict[str, str]:
    """The variables of a terminal with colours and a user who has set nothing, with all caches under `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOOKAHEAD_")}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):  # rich would believe them rather than the terminal
        kept.pop(name, None)
    return {**kept, "TERM": "xterm-256color", "XDG_CONFIG_HOME": str(folder), "LANG": "C.UTF-8",
            "LOOKAHEAD_CACHE": str(folder / "cache"), "LOOKAHEAD_REHEARSE": "false"}  # fmt: skip
