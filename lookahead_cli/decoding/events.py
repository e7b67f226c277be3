"""What decoding tells the world: one event a step. Everything that shows or records is a consumer of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lookahead_cli.decoding.draft import NO_GUESSES, Draft

FinishReason = Literal["eos", "stop", "length", "context"]

MODEL = "model"
"""Provenance of a bonus token: the model's own choice, not a guess. Any other provenance is a drafter's name."""


@dataclass(frozen=True)
class StepEvent:
    """One forward pass and what came of it.

    `token_ids`, `provenance` and `texts` run in parallel, one entry per emitted token. `texts` holds the text that
    became certain with that token: empty while a character or a possible stop string is incomplete.
    """

    token_ids: tuple[int, ...]
    provenance: tuple[str, ...]
    texts: tuple[str, ...]
    drafted_by: Mapping[str, int]
    """Draft tokens verified in this step, by drafter."""
    seconds: float
    """Wall time of the step: drafting, forward pass, selecting and bookkeeping."""
    forward_seconds: float = 0.0
    """Of these, inside the model. Where a device computes on while the program goes on, only until it was told to.
    0: not known, and the parts below are not either."""
    draft_seconds: float = 0.0
    """Of these, spent on making guesses."""
    select_seconds: float = 0.0
    """Of these, spent on choosing tokens from logits."""
    tested_depth: int = 0
    """Guesses in a row that were put to the test: those accepted, and the one after them if there was one."""
    finish_reason: FinishReason | None = None
    """Set on the last event only."""
    draft: Draft = NO_GUESSES
    """What was guessed, as it was verified; empty where nobody can tell."""
    path: tuple[int, ...] = ()
    """Nodes of the draft that were accepted and emitted, in order. If the text ends with the last of them, there is no
    bonus token, and guesses after it were not needed any more: they are neither right nor wrong."""

    @property
    def unneeded(self) -> tuple[int, ...]:
        """Guesses after an accepted one with which the text ended."""
        if not self.path or len(self.path) < len(self.token_ids):
            return ()
        behind = {self.path[-1]}
        for node, parent in enumerate(self.draft.parents):
            if parent in behind:
                behind.add(node)
        return tuple(sorted(behind - {self.path[-1]}))

    @property
    def rejected(self) -> tuple[int, ...]:
        """Guesses that were not what the model says, or follow such."""
        others = {*self.path, *self.unneeded}
        return tuple(node for node in range(len(self.draft)) if node not in others)

    @property
    def drafted(self) -> int:
        """Draft tokens verified in this step."""
        return sum(self.drafted_by.values())

    @property
    def accepted(self) -> int:
        """Emitted tokens that are verified guesses."""
        return sum(source in self.drafted_by for source in self.provenance)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@dataclass(frozen=True)
class PrefillEvent:
    """The prompt has been run through the model, all but its last token; no token has come out yet."""

    tokens: int
    """How many of them that were."""
    seconds: float
    kept: int = 0
    """How many more there are that the model had read before."""


Event = PrefillEvent | StepEvent
