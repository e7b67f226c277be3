"""From entries to contestants that can decode: all with the same weights."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from lookahead_cli.bench.entries import Entry
from lookahead_cli.bench.names import BLOCKS, TRANSFORMERS, TRANSFORMERS_ASSISTED, TRANSFORMERS_LOOKUP
from lookahead_cli.decoding.blocks import Blocks, decode_blocks
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.strategies import PLAIN
from lookahead_cli.decoding.window_init import WINDOW_INITS
from lookahead_cli.errors import ModelError
from lookahead_cli.models.devices import name_of
from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.session import Session, sampling_settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DEFAULT_BLOCK = 8
"""Length of a block of `nar` where k is "auto"."""
DEFAULT_COPIES = 10
"""Tokens that transformers' prompt lookup copies where k is "auto": the number its documentation uses."""


class Entrant(Protocol):
    """Decodes prompts."""

    @property
    def notices(self) -> list[str]:
        """What the user should know about it, a sentence each."""

    def generate(self, prompt: str) -> Generation:
        """As `Session.generate`."""

    def limited(self, max_new_tokens: int) -> Entrant:
        """The same for short texts, with nothing learned: for warming up."""

    def start_afresh(self) -> None:
        """Know for the next prompt what a new process knows, and no more."""


@dataclass
class BlockDecoding:
    """`nar`: blocks that nobody verifies."""

    session: Session
    blocks: Blocks

    @property
    def notices(self) -> list[str]:
        return [f"{BLOCKS} is lossy: it takes blocks of guesses unverified, so its text is not the model's"]

    def generate(self, prompt: str) -> Generation:
        ids, ending = self.session.prepare(prompt)
        selector = TokenSelector(sampling_settings(self.session.settings.decoding))
        self.session.cache_use.claim()
        return Generation(ids, decode_blocks(self.session.runner, self.blocks, selector, ids, ending))

    def limited(self, max_new_tokens: int) -> BlockDecoding:
        return replace(self, session=self.session.limited(max_new_tokens))

    def start_afresh(self) -> None:
        """It learns nothing."""


@dataclass(eq=False)
class Contestant:
    """Takes part in a contest."""

    name: str
    entrant: Entrant
    exempt: str = ""
    """Why its tokens may differ from those of the reference; empty: they may not."""
    reference: Contestant | None = None
    """Whose tokens it should give, and whose speed its own is compared with; None: it is that one itself."""

    @property
    def held_against(self) -> Contestant:
        return self.reference or self


def enter(session: Session, entries: Sequence[Entry], *, apart: bool, progress: Progress = silent) -> list[Contestant]:
    """Contestants that share the weights and the seed of `session`; with `apart` each has a KV cache of its own, so
    that they may decode by turns. They are held against the first one with the same sampling that promises its tokens.

    Raises:
        ModelError, ResourceError: a model that somebody needs cannot be loaded.
        ProfileError: a setting does not fit the model.
    """
    seed = {"seed": session.settings.decoding.seed}
    rivals = Rivals(session, progress)
    contestants: list[Contestant] = []
    for entry in entries:
        decoding = entry.decoding.model_copy(update=seed if entry.decoding.seed == "random" else {})
        own = session.beside(decoding) if apart else session.with_decoding(decoding)
        contestants.append(Contestant(entry.name, *entrant_for(entry, own, rivals, by_turns=apart)))
    for contestant, entry in zip(contestants, entries, strict=True):
        alike = [other for other, its in zip(contestants, entries, strict=True) if its.choosing == entry.choosing]
        best = next((other for other in alike if not other.exempt), alike[0])
        contestant.reference = None if best is contestant else best
    return contestants


def entrant_for(entry: Entry, session: Session, rivals: Rivals, *, by_turns: bool) -> tuple[Entrant, str]:
    """Whoever decodes for `entry`, and why that may come out with other tokens."""
    decoding = session.settings.decoding
    length = decoding.k if isinstance(decoding.k, int) else None
    if entry.kind == BLOCKS:
        if obstacle := session.runner.rewind_obstacle:
            raise ModelError(f"{BLOCKS} cannot refine guesses with this model: {obstacle}; leave {entry.name} out")
        blocks = Blocks(length or DEFAULT_BLOCK, entry.rounds, WINDOW_INITS[decoding.init])
        return BlockDecoding(session, blocks), "takes guesses unverified"
    if entry.kind in (TRANSFORMERS, TRANSFORMERS_LOOKUP, TRANSFORMERS_ASSISTED):
        from lookahead_cli.bench.transformers_generate import TransformersGenerate

        more: dict[str, Any] = {}
        if entry.kind == TRANSFORMERS_LOOKUP:
            more = {"prompt_lookup_num_tokens": length or DEFAULT_COPIES}
        if entry.kind == TRANSFORMERS_ASSISTED:
            more = {"assistant_model": guessing(rivals.assistant, length)}
        entrant = TransformersGenerate(session, rivals.model, more, by_turns)
        return entrant, why_transformers_differs(session)
    return session, why_guesses_matter(session)


def why_guesses_matter(session: Session) -> str:
    """Why tokens may be others than without guesses; empty where they may not."""
    dtype = name_of(session.loaded.dtype)
    if session.settings.decoding.strategy == PLAIN or session.loaded.dependent_rows is None or dtype == "float32":
        return ""
    return f"makes guesses, and in {dtype} near ties fall by what shares a pass"


def guessing(assistant: PreTrainedModel, length: int | None) -> PreTrainedModel:
    """The same model with settings of its own, for so many guesses in a row; None: as many as it is set to.

    `generate` reads their number from the assistant's own settings, and passes over one that it is called with.
    """
    assistant = copy.copy(assistant)  # the weights are shared
    assistant.generation_config = copy.deepcopy(assistant.generation_config)
    if length is not None:
        assistant.generation_config.num_assistant_tokens = length
        assistant.generation_config.num_assistant_tokens_schedule = "constant"
    return assistant


def why_transformers_differs(session: Session) -> str:
    """Why transformers' tokens may be others than ours; empty where they may not."""
    if session.settings.decoding.temperature:
        return "draws its own random numbers"
    dtype = name_of(session.loaded.dtype)
    return "" if dtype == "float32" else f"rounds in its own way in {dtype}"


class Rivals:
    """What transformers' `generate` needs, loaded when first asked for."""

    def __init__(self, session: Session, progress: Progress) -> None:
        self.session = session
        self.progress = progress
        self.models: dict[str, PreTrainedModel] = {}

    @property
    def model(self) -> PreTrainedModel:
        """The model of the session. Its own settings for generation are left out, beams and forbidden tokens among
        them: nobody else here honours them, and what all share is told with every prompt."""
        from transformers import GenerationConfig

        model = self._of("model", self.session.loaded, frozenset(self.session.settings.model.allow))
        model.generation_config = GenerationConfig()
        return model

    @property
    def assistant(self) -> PreTrainedModel:
        """Its draft model, to which no risks are extended that were taken with the model."""
        return self._of("assistant", self.session.load_draft_model(), frozenset())

    def _of(self, role: str, loaded: LoadedModel, allow: frozenset[str]) -> PreTrainedModel:
        from lookahead_cli.models.transformers_runner import TransformersRunner

        if role not in self.models:
            runner = loaded.runner
            if not isinstance(runner, TransformersRunner):
                wish = Wish(name_of(loaded.dtype), str(loaded.device), "transformers", allow=allow)
                self.progress("loading the model once more, for transformers")
                runner = load(loaded.folder, wish, self.progress).runner
                assert isinstance(runner, TransformersRunner)
            self.models[role] = runner.model
        return self.models[role]
