"""A loaded model with its settings, and generations from it: what the command line and Python users share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import torch

from lookahead_cli.decoding.budget import StepTimes
from lookahead_cli.decoding.continuation import Continuation, common_length
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import Event
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.decoding.loop import decode
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from lookahead_cli.decoding.strategies import BRANCHING, PLAIN, SPECULATIVE, STRATEGIES
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.decoding.wanted import DraftModel, Wanted
from lookahead_cli.errors import LookaheadError, ModelError, ProfileError, PromptError
from lookahead_cli.knowledge.background import start_rehearsal
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.knowledge.obstacles import Obstacles, keep_obstacles
from lookahead_cli.knowledge.store import (
    TIMES,
    known_beforehand,
    rates_file,
    read_rates,
    write_rates,
)
from lookahead_cli.models.devices import name_of
from lookahead_cli.models.draft_model import refuse_unfit
from lookahead_cli.models.generation_defaults import ignored_settings, own_repetition_penalty
from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.sources import locate
from lookahead_cli.profile import DecodingSettings, ModelSettings, Settings, draw_seed, require_draft_model
from lookahead_cli.text.chat import Message, Template, choose_template, encode
from lookahead_cli.text.prompt import is_unicode
from lookahead_cli.text.transcript import Transcript

MANY_TEXTS = " many texts"
"""Behind what the time of a step depends on: passes over many texts."""


@dataclass
class CacheUse:
    """Who has the KV cache, and what lies in it: sessions that share one share this."""

    holder: object = None
    """Stands for the generation that has it."""
    tokens: Sequence[int] = ()
    """What the model has read. Nothing is said of it while the model is at work: it may be stopped in the middle."""

    def claim(self) -> object:
        """Take the cache: whoever had it must not go on with it. Returns the new holder."""
        self.holder, self.tokens = object(), ()
        return self.holder


@dataclass
class Session:
    """A model ready to generate. Made by `open_session`."""

    settings: Settings
    """As they are in force: of the model, decoding and prompt nothing is left open but `k`, where "auto" is a rule."""
    loaded: LoadedModel
    notices: list[str]
    """What the user should know about how this model is run, a sentence each."""
    knowledge: Path
    """Folder with what is kept about this model between runs."""
    load_draft_model: Callable[[], LoadedModel]
    """Loads the draft model of the settings the first time; sessions that share a model share this."""
    strategy: Strategy | None = None
    """Of the latest generation; with `across_prompts` it serves the next one too."""
    keeps_hit_rates: bool = True
    """Whether what is learned about kinds of guesses is stored for later processes."""
    cache_use: CacheUse = field(default_factory=CacheUse)

    @property
    def runner(self) -> Runner:
        """What runs the model."""
        return self.loaded.runner

    def generate(self, prompt: str | Sequence[Message], *, progress: Progress = silent) -> Generation:
        """Start a generation; nothing is computed until it is iterated. One at a time: they share the KV cache.

        `prompt` may be a conversation. `progress` hears how far the reading of it has come.

        Raises:
            ModelError: the model's chat template refuses the conversation, its tokenizer is another model's, or the
                draft model, if it was not needed before, cannot be used.
            PromptError: the prompt has no tokens or leaves no room in the context.
        """
        return self._started(*self.prepare(prompt), carry_on=False, progress=progress)

    def carry_on(self, ids: list[int], progress: Progress = silent) -> Generation:
        """Like `generate`, with the prompt as token ids. The model does not read again what it has read last, as far as
        they begin with it: the turns of a conversation so far."""
        self._check_room(ids)
        return self._started(ids, self._ending(ids, self.settings.decoding), carry_on=True, progress=progress)

    def _started(self, ids: list[int], ending: Ending, *, carry_on: bool, progress: Progress) -> Generation:
        sampling = sampling_settings(self.settings.decoding)
        text = Continuation(ids, self.strategy_for(sampling), TokenSelector(sampling), ending)
        return Generation(ids, self._events(text, carry_on, progress))

    def prepare(
        self,
        prompt: str | Sequence[Message],
        system: str | None = None,
        decoding: DecodingSettings | None = None,
    ) -> tuple[list[int], Ending]:
        """The tokens of a prompt or a conversation, and what says where its continuation ends. A system text and
        settled decoding settings of its own may be given. Raises the same as `generate`."""
        if isinstance(prompt, str) and not is_unicode(prompt):
            raise PromptError("the prompt holds half characters (surrogates): give it as Unicode text")
        decoding = self.settings.decoding if decoding is None else decoding
        system = self.settings.prompt.system if system is None else system
        template: Template = "raw" if self.settings.prompt.template == "raw" else "chat"
        ids = encode(self.loaded.tokenizer, prompt, system, template)
        self._check_room(ids)
        return ids, self._ending(ids, decoding)

    def _ending(self, ids: Sequence[int], decoding: DecodingSettings) -> Ending:
        """What says where a continuation of `ids` ends."""
        context = ids if self.settings.prompt.template == "raw" else ()
        return Ending(
            Transcript(self.loaded.tokenizer.backend_tokenizer, decoding.stop, context),
            eos_token_ids=self.loaded.eos_token_ids,
            max_new_tokens=decoding.max_new_tokens,
            prompt_tokens=len(ids),
            context_length=self.loaded.context_length,
        )

    @property
    def _machine(self) -> str:
        """What the time of a step depends on, beside the model and the number of nodes."""
        model = self.settings.model
        return f"{model.runner} {model.weights} {model.device} {model.dtype} {model.threads} {torch.__version__}"

    def strategy_for(self, sampling: SamplingSettings) -> Strategy:
        """The strategy of the settings, with what is known beforehand; with `across_prompts` the one there is."""
        decoding = self.settings.decoding
        if self.strategy is None or not decoding.across_prompts:
            recall = partial(
                known_beforehand, self.knowledge, self.runner.vocab,
                sampled=sampling.temperature > 0, machine=self._machine,
            )  # fmt: skip
            wanted = Wanted(decoding, sampling, self.runner.vocab, recall, self._draft_model)
            self.strategy = STRATEGIES[decoding.strategy](wanted)
        return self.strategy

    def _draft_model(self) -> DraftModel:
        """The draft model with a cache for one strategy."""
        loaded = self.load_draft_model()
        return DraftModel(loaded.runner.twin(), loaded.context_length)

    def with_decoding(self, decoding: DecodingSettings) -> Session:
        """Another session with the same model, for measuring: it stores nothing. One generation of both at a time.

        Raises:
            ProfileError: a setting does not fit the model, or there is no draft model for a strategy that needs one.
        """
        wanted = self.settings.model_copy(update={"decoding": decoding})
        require_draft_model(wanted)
        settings = settle(wanted, self.loaded)
        said = notices(wanted, settings, self.loaded)
        return replace(self, settings=settings, notices=said, strategy=None, keeps_hit_rates=False)

    def beside(self, decoding: DecodingSettings) -> Session:
        """Like `with_decoding`, but with a KV cache of its own: generations of both may go on by turns."""
        loaded = replace(self.loaded, runner=self.runner.twin())
        return replace(self.with_decoding(decoding), loaded=loaded, cache_use=CacheUse())

    def limited(self, max_new_tokens: int) -> Session:
        """The same for short texts, with nothing learned: for warming up."""
        return self.with_decoding(self.settings.decoding.model_copy(update={"max_new_tokens": max_new_tokens}))

    def start_afresh(self) -> None:
        """Know for the next prompt what a new process knows, and no more."""
        self.strategy = None

    def keep_hit_rates(self, pass_times: StepTimes | None = None) -> None:
        """Store how often guesses of each kind were right, and what steps took, for the next process: numbers, nothing
        of any text. `pass_times` are those of passes over many texts."""
        if self.keeps_hit_rates and isinstance(self.strategy, Lookahead):
            measured = {self._machine: self.strategy.times.export()}
            if pass_times is not None:
                measured[self._machine + MANY_TEXTS] = pass_times.export()
            times = {machine: found for machine, found in measured.items() if found}
            with suppress(OSError):  # a cache that cannot be written to costs a little speed, nothing else
                write_rates(self._rates_file, {**self.strategy.rates.export(), TIMES: times})

    @property
    def kept_pass_times(self) -> Mapping[str, float] | None:
        """What an earlier process has found about passes over many texts."""
        kept = read_rates(self._rates_file)
        return None if kept is None else kept[TIMES].get(self._machine + MANY_TEXTS)

    @property
    def _rates_file(self) -> Path:
        return rates_file(self.knowledge, sampled=self.settings.decoding.temperature > 0)

    def rehearse(self) -> bool:
        """Start a rehearsal of the model in the background if it has not had one; whether that was done."""
        decoding = self.settings.decoding
        if not decoding.rehearse or self.settings.model.allow or not isinstance(self.strategy, Lookahead):
            return False  # a risk was taken for this process, not for one that nobody sees
        return start_rehearsal(self.loaded.folder, self.knowledge, self.runner.vocab, self.loaded.parameters)

    def _check_room(self, ids: list[int]) -> None:
        if not ids:
            raise PromptError("the model would be shown no tokens at all: its chat template leaves nothing of this")
        if max(ids) >= self.runner.vocab:
            raise ModelError(
                f"the tokenizer in {self.loaded.folder} knows token {max(ids)}, but the model only {self.runner.vocab} "
                "tokens: they do not belong together, fetch both again"
            )
        if len(ids) >= self.loaded.context_length:
            raise PromptError(
                f"the prompt has {len(ids)} tokens and leaves no room in the context of {self.loaded.context_length}: "
                "shorten it, or raise context_length if the model was made for more"
            )

    def _events(self, text: Continuation, carry_on: bool, progress: Progress) -> Iterator[Event]:
        """The events, until another generation has taken the cache: going on would give wrong tokens."""
        use = self.cache_use
        kept = self._kept(text.committed[:-1]) if carry_on else 0
        mine = use.claim()
        try:
            for event in decode(self.runner, text, kept, progress):
                use.tokens = text.committed[:-1]
                yield event
                if use.holder is not mine:
                    raise LookaheadError("another generation of this session has begun: finish one before the next")
                use.tokens = ()
            use.tokens = text.committed[:-1]
        finally:
            if use.holder is mine:
                self.keep_hit_rates()

    def _kept(self, prompt: Sequence[int]) -> int:
        """How many tokens that `prompt` begins with can stay in the cache."""
        same = common_length(self.cache_use.tokens, prompt)
        return same if self.runner.keeps(same) else 0


def open_session(settings: Settings, progress: Progress = silent) -> Session:
    """Find and load the model, and settle everything that was left open.

    Raises:
        ModelError: the model cannot be used, or the draft model not with it.
        ProfileError: a setting does not fit the model, or there is no draft model for a strategy that needs one.
        PromptError: the settings ask for a conversation, and the model has no template for one.
        ResourceError: the machine could not do its part (network, disk, memory).
    """
    wanted = settings.model
    require_draft_model(settings)
    if settings.prompt.template == "raw":
        choose_template(None, "raw", settings.prompt.system)  # before minutes are spent on a download
    if wanted.threads != "auto":
        torch.set_num_threads(wanted.threads)
    allow = frozenset(wanted.allow)
    folder = locate(wanted.source, revision=wanted.revision, allow=allow, progress=progress)
    context_length = None if wanted.context_length == "auto" else wanted.context_length
    loaded = load(folder, wish_for(wanted, folder, context_length, allow), progress)
    resolved = settle(settings, loaded)
    draft_model = cache(partial(load_draft_model, settings, loaded, progress))
    if resolved.decoding.strategy == SPECULATIVE:
        draft_model()  # what does not fit is told now, not with the first prompt
    said = notices(settings, resolved, loaded)
    knowledge = knowledge_folder(folder)
    if loaded.runner_name == "transformers" and settings.decoding.strategy in BRANCHING:
        keep_obstacles(knowledge, Obstacles(loaded.runner.rewind_obstacle, loaded.runner.tree_obstacle))
    return Session(resolved, loaded, said, knowledge, draft_model)


def load_draft_model(settings: Settings, target: LoadedModel, progress: Progress) -> LoadedModel:
    """Find and load what drafts for `target`, by the wishes for that. Its context is its own.

    Raises:
        ModelError: it cannot be used, or not with `target`.
        ResourceError: the machine could not do its part (network, disk, memory).
    """
    no_risks: frozenset[str] = frozenset()  # those that a profile allows are the model's: nobody vouched for this one
    try:
        folder = locate(settings.draft.source, revision=settings.draft.revision, allow=no_risks, progress=progress)
        draft = load(folder, wish_for(settings.model, folder, context_length=None, allow=no_risks), progress)
    except ModelError as error:
        raise ModelError(f"draft model: {error}") from error
    refuse_unfit(draft, target)
    return draft


def wish_for(model: ModelSettings, folder: Path, context_length: int | None, allow: frozenset[str]) -> Wish:
    """How the model in `folder` is to be loaded."""
    return Wish(model.dtype, model.device, model.runner, context_length, allow, model.weights, knowledge_folder(folder))


def settle(settings: Settings, loaded: LoadedModel) -> Settings:
    """The settings with every "auto" and "random" of the model, decoding and prompt replaced, but for `k`."""
    decoding = settings.decoding
    refuse_unreachable_stops(decoding.stop, loaded)
    penalty = decoding.repetition_penalty
    chosen = {
        "model": {
            "dtype": name_of(loaded.dtype),
            "device": str(loaded.device),
            "runner": loaded.runner_name,
            "threads": torch.get_num_threads(),
            "context_length": loaded.context_length,
        },
        "decoding": {
            "strategy": PLAIN if loaded.runner.rewind_obstacle else decoding.strategy,
            "seed": draw_seed(decoding),
            "repetition_penalty": own_repetition_penalty(loaded.generation) if penalty == "auto" else penalty,
        },
        "prompt": {"template": choose_template(loaded.tokenizer, settings.prompt.template, settings.prompt.system)},
    }
    return settings.model_copy(
        update={section: getattr(settings, section).model_copy(update=values) for section, values in chosen.items()}
    )


def refuse_unreachable_stops(stops: list[str], loaded: LoadedModel) -> None:
    """Raise ProfileError for a stop string that is a special token: those are not part of the text."""
    for stop in stops:
        if stop in loaded.tokenizer.all_special_tokens:
            raise ProfileError(
                f'stop: "{stop}" is a special token of this model and never part of the text; leave it out '
                "(the model's own end-of-text tokens end the output anyway)"
            )


def notices(wanted: Settings, resolved: Settings, loaded: LoadedModel) -> list[str]:
    """What the user should know, a sentence each."""
    said = []
    runner = loaded.runner
    if runner.rewind_obstacle and wanted.decoding.strategy != PLAIN:
        said.append(f"guesses cannot be taken back with this model, decoding greedily: {runner.rewind_obstacle}")
    elif resolved.decoding.strategy in BRANCHING and runner.tree_obstacle:
        said.append(f"guesses cannot branch with this model, so they form a chain: {runner.tree_obstacle}")
    if resolved.decoding.strategy != PLAIN and loaded.dependent_rows is not None:
        said.append(
            f"in {name_of(loaded.dtype)} a near tie can fall differently from greedy decoding here "
            f"({loaded.dependent_rows}); float32 is safer"
        )
    if ignored := ignored_settings(loaded.generation):
        said.append(f"the model's own generation settings {', '.join(ignored)} are not honoured")
    return said


def sampling_settings(decoding: DecodingSettings) -> SamplingSettings:
    """The part of settled settings that decides which token comes out."""
    assert isinstance(decoding.seed, int), '"random" is replaced when the session is opened'
    assert isinstance(decoding.repetition_penalty, float), '"auto" is replaced when the session is opened'
    return SamplingSettings(
        temperature=decoding.temperature,
        top_k=decoding.top_k,
        top_p=decoding.top_p,
        min_p=decoding.min_p,
        repetition_penalty=decoding.repetition_penalty,
        seed=decoding.seed,
    )
