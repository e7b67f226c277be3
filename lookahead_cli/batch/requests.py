"""From a record to a text that can be continued."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from lookahead_cli.batch.records import Record
from lookahead_cli.decoding.continuation import Continuation
from lookahead_cli.decoding.select import TokenSelector
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.errors import PromptError
from lookahead_cli.profile import LARGEST_SEED, DecodingSettings
from lookahead_cli.session import Session, refuse_unreachable_stops, sampling_settings

LONGEST_TOKEN = 100
"""Characters of a token, generously: a text longer than the context times this is not even tokenised, which takes
seconds and gigabytes for megabytes of text."""


@dataclass(frozen=True)
class Request:
    """A record made ready."""

    record: Record
    text: Continuation
    prompt_tokens: int
    most_tokens: int
    """That prompt and output can come to."""
    seed: int | None
    """None where nothing is drawn."""


def make_request(session: Session, strategy: Strategy, record: Record) -> Request:
    """The text of a record, to be decoded by a strategy beside `strategy`.

    Raises:
        ModelError: the model's chat template refuses the conversation.
        ProfileError: a stop string can never be met.
        PromptError: the prompt is no Unicode, has no tokens or does not fit into the context.
    """
    prompt = record.messages if record.prompt is None else record.prompt
    assert prompt is not None, "a record has one of the two"
    context = session.loaded.context_length
    size = len(prompt) if isinstance(prompt, str) else sum(len(message["content"]) for message in prompt)
    if size > LONGEST_TOKEN * context:
        raise PromptError(f"the prompt has {size} characters, far more than fit into a context of {context} tokens")
    decoding = settings_of(session.settings.decoding, record)
    refuse_unreachable_stops(decoding.stop, session.loaded)
    ids, ending = session.prepare(prompt, record.system, decoding)
    sampling = sampling_settings(decoding)
    text = Continuation(ids, strategy.beside(sampling), TokenSelector(sampling), ending)
    seed = sampling.seed if sampling.temperature else None
    return Request(record, text, len(ids), len(ids) + ending.remaining, seed)


def settings_of(decoding: DecodingSettings, record: Record) -> DecodingSettings:
    """The settings of a run with what a record sets for itself, and a seed of its own."""
    assert isinstance(decoding.seed, int), '"random" is replaced when the session is opened'
    own = {key: value for key, value in record.overrides.items() if value != "auto"}  # "auto" has been settled
    return decoding.model_copy(update={"seed": seed_of(decoding.seed, record.id), **own})


def seed_of(run_seed: int, record_id: str) -> int:
    """The seed of a record: a function of the run's and its id, so that neither its neighbours nor its place count."""
    digest = hashlib.sha256(f"{run_seed}:{record_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (LARGEST_SEED + 1)
