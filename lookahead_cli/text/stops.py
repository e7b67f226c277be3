"""Stop strings: where text must end, found as it streams and never shown in part."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Passes text on, except what may still turn out to be the beginning of a stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = [stop for stop in stops if stop]
        self.held = ""
        self.hit = False

    def add(self, piece: str) -> str:
        """The text that is now certain to come before any stop string. After a hit there is none."""
        if self.hit:
            return ""
        text = self.held + piece
        starts = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if starts:
            self.hit, self.held = True, ""
            return text[: min(starts)]
        keep = len(text) - self._undecided(text)
        self.held = text[keep:]
        return text[:keep]

    def finish(self) -> str:
        """What was held back: no stop string came of it."""
        held, self.held = self.held, ""
        return held

    def _undecided(self, text: str) -> int:
        """Length of the longest end of `text` that some stop string begins with."""
        longest = max((len(stop) for stop in self.stops), default=0)
        for length in range(min(len(text), longest - 1), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stops):
                return length
        return 0
