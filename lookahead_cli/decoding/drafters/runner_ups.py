"""Runner-ups: what the model nearly said at the last positions, which it often says a moment later.

A row that chose "the" had perhaps "Paris" in second place; then "Paris" is a good guess for after "the". These are the
outputs of rows already accepted, moved on: the Jacobi iterate at the left edge of the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lookahead_cli.decoding.drafters import NOTHING, Outcome
from lookahead_cli.decoding.likely import CERTAINTIES, LikelyTokens, expected_of
from lookahead_cli.decoding.select import SamplingSettings

NAME = "runner-ups"
ROWS = 2
"""Rows looked back on."""


class RunnerUps:
    """The unsaid tokens of the latest rows. They are guesses for the very next position only."""

    name = key = NAME

    def __init__(self) -> None:
        self.latest: list[Mapping[int, int]] = []
        """Newest first: what a row found likely and was not said, with its certainty."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.latest = []
        if likely is not None:
            for row in range(max(0, len(likely) - ROWS), len(likely)):
                self._remember(prompt[likely.first + row + 1], likely, row)

    def root(self, committed: Sequence[int]) -> bool:
        return True

    def follow(self, state: bool, token: int) -> bool:
        return False

    def guesses(self, state: bool) -> Mapping[int, int]:
        if not state:
            return NOTHING
        found: dict[int, int] = {}
        for age, row in enumerate(self.latest):
            for token, kind in row.items():
                found.setdefault(token, age * CERTAINTIES + kind)
        return found

    def expected(self, kind: int) -> float:
        return 0.3 * expected_of(kind % CERTAINTIES)

    def learn(self, outcome: Outcome) -> None:
        for offset, row in enumerate(outcome.selected_rows):
            self._remember(outcome.committed[outcome.position + offset], outcome.likely, row)

    def beside(self, sampling: SamplingSettings) -> RunnerUps:
        return RunnerUps()

    def end(self) -> None:
        pass

    def _remember(self, said: int, likely: LikelyTokens, row: int) -> None:
        unsaid = {token: kind for token, kind in likely.kinds[row].items() if token != said}
        self.latest = [unsaid, *self.latest[: ROWS - 1]]
