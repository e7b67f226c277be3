"""A loaded model with its settings, and generations from it: what the command line and Python users share."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import Event, FinishReason, StepEvent
from lookahead_cli.decoding.loop import decode
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.errors import ModelError, PromptError
from lookahead_cli.models.loading import LoadedModel, load
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.sources import locate
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.profile import DecodingSettings, Settings
from lookahead_cli.text.chat import Template, choose_template, encode
from lookahead_cli.text.transcript import Transcript

RANDOM_SEEDS = 2**31
"""Seeds drawn for `seed = "random"`: short enough to be typed again."""


@dataclass
class Generation:
    """One prompt being continued. Iterate for the events; everything else grows as you do."""

    prompt_ids: list[int]
    transcript: Transcript
    events: Iterator[Event]
    statistics: Statistics = field(default_factory=Statistics)
    steps: list[StepEvent] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    def __iter__(self) -> Iterator[Event]:
        for event in self.events:
            self.statistics.add(event)
            if isinstance(event, StepEvent):
                self.steps.append(event)
                self.finish_reason = event.finish_reason
            yield event

    @property
    def token_ids(self) -> list[int]:
        """The emitted tokens, the end-of-text token included where there is one."""
        return [token for step in self.steps for token in step.token_ids]

    @property
    def text(self) -> str:
        """The text handed out so far."""
        return "".join(step.text for step in self.steps)


@dataclass
class Session:
    """A model ready to generate. Made by `open_session`."""

    settings: Settings
    """As they are in force: "auto" and "random" are replaced by what was chosen, but for `k`, where it is a rule."""
    loaded: LoadedModel
    runner: Runner
    notices: list[str]
    """What the user should know about how this model is run, a sentence each."""

    def generate(self, prompt: str) -> Generation:
        """Start a generation; nothing is computed until it is iterated. One at a time: they share the KV cache.

        Raises:
            ModelError: the model's chat template refuses the conversation, or its tokenizer is another model's.
            PromptError: the prompt has no tokens or leaves no room in the context.
        """
        decoding = self.settings.decoding
        template: Template = "raw" if self.settings.prompt.template == "raw" else "chat"
        ids = encode(self.loaded.tokenizer, prompt, self.settings.prompt.system, template)
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
        transcript = Transcript(self.loaded.tokenizer.backend_tokenizer, decoding.stop)
        ending = Ending(
            transcript,
            eos_token_ids=self.loaded.eos_token_ids,
            max_new_tokens=decoding.max_new_tokens,
            prompt_tokens=len(ids),
            context_length=self.loaded.context_length,
        )
        selector = TokenSelector(sampling_settings(decoding))
        drafter = STRATEGIES[decoding.strategy](decoding, selector, self.runner.vocab)
        return Generation(ids, transcript, decode(self.runner, drafter, selector, ids, ending))


def open_session(settings: Settings, progress: Progress = silent) -> Session:
    """Find and load the model, and settle everything that was left open.

    Raises:
        ModelError: the model cannot be used.
        ResourceError: the machine could not do its part (network, disk, memory).
        PromptError: the settings ask for a chat template that the model does not have.
    """
    wanted = settings.model
    if wanted.threads != "auto":
        torch.set_num_threads(wanted.threads)
    folder = locate(wanted.source, revision=wanted.revision, allow=frozenset(wanted.allow), progress=progress)
    loaded = load(
        folder,
        dtype=wanted.dtype,
        device=wanted.device,
        context_length=None if wanted.context_length == "auto" else wanted.context_length,
        allow=frozenset(wanted.allow),
        progress=progress,
    )
    runner = TransformersRunner(loaded.model)
    notices = []
    strategy = settings.decoding.strategy
    if runner.rewind_obstacle and strategy != "greedy":
        notices.append(f"guesses cannot be taken back with this model, decoding greedily: {runner.rewind_obstacle}")
        strategy = "greedy"
    if strategy != "greedy" and loaded.dtype != torch.float32:
        notices.append(
            f"in {dtype_name(loaded.dtype)} a near tie can fall differently from greedy decoding; float32 is exact"
        )
    model = wanted.model_copy(
        update={
            "dtype": dtype_name(loaded.dtype),
            "device": str(loaded.device),
            "threads": torch.get_num_threads(),
            "context_length": loaded.context_length,
        }
    )
    seed = settings.decoding.seed
    decoding = settings.decoding.model_copy(
        update={"strategy": strategy, "seed": secrets.randbelow(RANDOM_SEEDS) if seed == "random" else seed}
    )
    template = choose_template(loaded.tokenizer, settings.prompt.template, settings.prompt.system)
    prompt = settings.prompt.model_copy(update={"template": template})
    resolved = settings.model_copy(update={"model": model, "decoding": decoding, "prompt": prompt})
    return Session(resolved, loaded, runner, notices)


def sampling_settings(decoding: DecodingSettings) -> SamplingSettings:
    """The part of the settings that decides which token comes out."""
    assert isinstance(decoding.seed, int), '"random" is replaced when the session is opened'
    return SamplingSettings(
        temperature=decoding.temperature,
        top_k=decoding.top_k,
        top_p=decoding.top_p,
        min_p=decoding.min_p,
        repetition_penalty=decoding.repetition_penalty,
        seed=decoding.seed,
    )


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")
