"""The lines of a trace, and how they become events again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, computed_field, model_validator

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.events import MODEL, FinishReason, PrefillEvent, StepEvent
from lookahead_cli.trace import VERSION

if TYPE_CHECKING:
    from lookahead_cli.text.token_labels import Label

LONGEST_SECONDS = 1e6
"""Nobody waits longer for a step, so nothing took longer."""
LARGEST = 2**63 - 1
"""More than anything that is counted here, and small enough to be counted with."""

Token = Annotated[int, Field(ge=0, le=LARGEST)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]
Ending = Literal[FinishReason, "interrupted", "failed"]


class Line(BaseModel):
    """An object of its own line."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


class Begin(Line):
    event: Literal["begin"] = "begin"
    trace: Literal[1] = VERSION
    lookahead: str
    model: str
    prompt: str
    prompt_token_ids: Annotated[list[Token], Field(min_length=1)]
    pending: str
    settings: dict[str, Any]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def prompt_tokens(self) -> int:
        return len(self.prompt_token_ids)


class Prefill(Line):
    event: Literal["prefill"] = "prefill"
    tokens: Annotated[int, Field(ge=0, le=LARGEST)]
    seconds: Seconds

    @property
    def as_event(self) -> PrefillEvent:
        return PrefillEvent(self.tokens, self.seconds)


class Guesses(Line):
    tokens: tuple[Token, ...]
    parents: tuple[int, ...]
    provenance: tuple[str, ...]
    labels: tuple[str, ...]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Guesses:
        if not len(self.tokens) == len(self.parents) == len(self.provenance) == len(self.labels):
            raise ValueError("the lists of the draft differ in length")
        if not all(ROOT <= parent < node for node, parent in enumerate(self.parents)):
            raise ValueError("a guess follows one that comes after it")
        return self


class Step(Line):
    event: Literal["step"] = "step"
    token_ids: Annotated[tuple[Token, ...], Field(min_length=1)]
    provenance: tuple[str, ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    draft: Guesses
    path: tuple[int, ...]
    seconds: Seconds
    forward_seconds: Seconds
    draft_seconds: Seconds
    select_seconds: Seconds
    finish_reason: FinishReason | None

    @classmethod
    def of(cls, event: StepEvent, label: Label) -> Step:
        draft = event.draft
        return cls(
            token_ids=event.token_ids,
            provenance=event.provenance,
            texts=event.texts,
            labels=tuple(map(label, event.token_ids)),
            draft=Guesses(
                tokens=draft.tokens,
                parents=draft.parents,
                provenance=draft.provenance,
                labels=tuple(map(label, draft.tokens)),
            ),
            path=event.path,
            seconds=event.seconds,
            forward_seconds=event.forward_seconds,
            draft_seconds=event.draft_seconds,
            select_seconds=event.select_seconds,
            finish_reason=event.finish_reason,
        )

    @model_validator(mode="after")
    def _belongs_together(self) -> Step:
        emitted = len(self.token_ids)
        if not emitted == len(self.provenance) == len(self.texts) == len(self.labels):
            raise ValueError("the lists of the emitted tokens differ in length")
        if not emitted - 1 <= len(self.path) <= emitted:
            raise ValueError("the path does not fit the emitted tokens")
        nodes = dict(enumerate(zip(self.draft.parents, self.draft.tokens, strict=True)))
        walked = zip((ROOT, *self.path), self.token_ids, strict=False)
        if any(nodes.get(node) != edge for node, edge in zip(self.path, walked, strict=False)):
            raise ValueError("the path does not lead through the draft")
        if self.provenance != (*(self.draft.provenance[node] for node in self.path), MODEL)[:emitted]:
            raise ValueError("the provenance is not that of the path")
        return self

    @property
    def as_event(self) -> StepEvent:
        draft = Draft(self.draft.tokens, self.draft.parents, self.draft.provenance)
        return StepEvent(
            token_ids=self.token_ids,
            provenance=self.provenance,
            texts=self.texts,
            drafted_by=draft.count_by_drafter,
            seconds=self.seconds,
            forward_seconds=self.forward_seconds,
            draft_seconds=self.draft_seconds,
            select_seconds=self.select_seconds,
            tested_depth=min(draft.tested_depth(self.path), len(self.token_ids)),
            finish_reason=self.finish_reason,
            draft=draft,
            path=self.path,
        )


class End(Line):
    event: Literal["end"] = "end"
    finish_reason: Ending


AnyLine = Begin | Prefill | Step | End
LINES: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="event")])
