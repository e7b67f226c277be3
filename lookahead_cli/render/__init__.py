"""Consumers of decoding events: each shows or records a generation in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from lookahead_cli.decoding.events import StepEvent
    from lookahead_cli.decoding.generation import Generation


CutShort = Literal["interrupted", "failed"]


class Renderer(Protocol):
    """Shows one generation."""

    def show(self, step: StepEvent) -> None:
        """A step has been decided."""

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        """There will be no more steps; `cut_short` says why if that is not for a reason of the generation's own."""
