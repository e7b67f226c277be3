"""The bare text, byte for byte, for pipes and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from lookahead_cli.decoding.events import StepEvent

if TYPE_CHECKING:
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.render import CutShort


class PlainRenderer:
    """Writes text as it is decided and nothing else."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def show(self, step: StepEvent) -> None:
        self.file.write(step.text)
        self.file.flush()

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        pass
