"""How long a Jacobi window is."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_AUTO_K = 4
"""Where `k = "auto"` starts: small enough to cost little if nothing is accepted."""
MAX_AUTO_K = 32
"""Where `k = "auto"` stops growing: beyond it a forward pass gets dearer about as fast as it gets longer."""


@dataclass
class WindowSize:
    """The number of guesses in a window, fixed or following what is accepted."""

    k: int
    adaptive: bool = False

    @classmethod
    def of(cls, k: int | str) -> WindowSize:
        """From the setting: a number, or "auto"."""
        return cls(FIRST_AUTO_K, adaptive=True) if isinstance(k, str) else cls(k)

    def update(self, drafted: int, accepted: int) -> None:
        """Double after a step that accepted every guess, shrink by one after one that accepted under half of them.

        Growing fast pays when text turns predictable (one step too short costs a whole step more); shrinking slowly
        keeps the iterates, which need a few passes to settle.
        """
        if not self.adaptive or drafted == 0:
            return
        if accepted == drafted:
            self.k = min(2 * self.k, MAX_AUTO_K)
        elif 2 * accepted < drafted:
            self.k = max(self.k - 1, 1)
