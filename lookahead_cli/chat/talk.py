"""A conversation with a loaded model: each answer goes on where the last one ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.spoken import Spoken
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.decoding.strategy import Strategy
from lookahead_cli.errors import PromptError
from lookahead_cli.layers import with_values
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.profile import LARGEST_SEED, DecodingSettings, DisplaySettings, draw_seed
from lookahead_cli.session import Session, sampling_settings
from lookahead_cli.text.chat import Message, render

ANSWER_SHARE = 4
"""At least this part of the context is left for an answer, if the answer may be that long."""
SPARE_SHARE = 8
"""This part more becomes free when turns are dropped, so that not every turn has to drop some."""
ENDINGS_ONLY = {"max_new_tokens", "stop"}
"""Settings that only say where an answer ends: what was learned stays as it is."""
SAMPLING_ONLY = {"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed"}
"""Settings that only say how tokens are chosen: a strategy beside the old one knows what that knew."""


@dataclass
class Talk:
    """A conversation and the model that answers. One answer at a time."""

    session: Session
    conversation: Conversation
    spoken: Spoken = field(default_factory=Spoken)
    """The conversation as the tokens that were read and said."""
    latest: Generation | None = None
    """The latest answer, as it was generated."""
    totals: Statistics = field(default_factory=Statistics)
    """Of all answers."""

    def ask(self, said: str, progress: Progress = silent) -> Generation:
        """Say something; nothing is computed until the answer is iterated. `keep` it, or it was never said.

        Raises:
            ModelError: the model's chat template refuses the conversation.
            PromptError: what was said is longer than the context allows.
        """
        asked = self.conversation.asking(said)
        context = self.session.loaded.context_length
        most = context - min(self.session.settings.decoding.max_new_tokens, context // ANSWER_SHARE)
        fitted = asked.fitting(self._count, most, most - context // SPARE_SHARE)
        spoken = self._shown(fitted.messages)
        self.latest = self.session.carry_on(list(spoken.ids), progress)
        self.conversation, self.spoken = fitted, spoken
        return self.latest

    def keep(self) -> None:
        """What has been answered so far becomes part of the conversation; if nothing was, neither is the question."""
        assert self.latest is not None, "something has been asked"
        answer, ids = self.latest.text, self.latest.token_ids
        self.totals.include(self.latest.statistics)
        if not answer:
            self.take_back()
            return
        self.conversation.turns[-1].answer = answer
        if self.latest.finish_reason == "eos":
            ids = ids[:-1]  # the template says how an answer ends
        if self.session.loaded.tokenizer.backend_tokenizer.decode(ids) == answer:  # nothing was held back or cut off
            self.spoken = self.spoken.with_more(answer, ids)

    def take_back(self) -> str:
        """Remove the latest turn; what the user had said there.

        Raises:
            PromptError: there is none.
        """
        if not self.conversation.turns:
            raise PromptError("nothing has been said yet: there is no answer to retry")
        turn = self.conversation.turns.pop()
        self.conversation.dropped = min(self.conversation.dropped, len(self.conversation.turns))
        return turn.said

    def next_seed(self) -> None:
        """Choose with other random numbers from now on."""
        decoding = self.session.settings.decoding
        self.decode_with(decoding.model_copy(update={"seed": (draw_seed(decoding) + 1) % (LARGEST_SEED + 1)}))

    def set_value(self, key: str, text: str) -> None:
        """Change a key of [decoding] to a value as it was typed.

        Raises:
            ProfileError: it is not allowed.
        """
        self.decode_with(with_values(self.session.settings, {key: text}, f"/set {key}").decoding)

    def decode_with(self, decoding: DecodingSettings, display: DisplaySettings | None = None) -> None:
        """Decode with other settings, and show it in another way; what was learned stays as far as they allow.

        Raises:
            ProfileError: they do not fit the model.
        """
        old = self.session
        new = old.with_decoding(decoding)
        strategy = carried_over(old, new)
        settings = new.settings.model_copy(update={"display": display or old.settings.display})
        self.session = replace(new, settings=settings, strategy=strategy, keeps_hit_rates=old.keeps_hit_rates)

    def continue_with(self, session: Session) -> None:
        """Let another model, or the same one with other settings, go on with the conversation."""
        self.session = session
        self.latest = None
        self.spoken = Spoken()
        self.conversation.dropped = 0

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as the model would be shown it now."""
        return self._count(self.conversation.messages) if self.conversation.messages else 0

    def _count(self, messages: Sequence[Message]) -> int:
        return len(self._shown(messages).ids)

    def _shown(self, messages: Sequence[Message]) -> Spoken:
        """What is spoken once the model is shown these messages."""
        tokenizer = self.session.loaded.tokenizer
        text = render(tokenizer, messages, self.conversation.system)
        return self.spoken.going_on(text, lambda part: list(tokenizer(part, add_special_tokens=False)["input_ids"]))


def carried_over(old: Session, new: Session) -> Strategy | None:
    """The strategy with which `new`, the same session with other settings, goes on; None: a fresh one."""
    before, after = old.settings.decoding, new.settings.decoding
    changed = {key for key in type(before).model_fields if getattr(before, key) != getattr(after, key)}
    if old.strategy is None or changed <= ENDINGS_ONLY:
        return old.strategy
    if not changed <= ENDINGS_ONLY | SAMPLING_ONLY:
        return None
    sampling = sampling_settings(after)
    strategy = old.strategy.beside(sampling)
    old.strategy.end()
    if isinstance(strategy, Lookahead) and bool(before.temperature) != bool(after.temperature):
        # Hit rates differ between greedy decoding and sampling, and are kept in files of their own.
        fresh = new.strategy_for(sampling)
        assert isinstance(fresh, Lookahead), "it is the same strategy"
        strategy.rates = fresh.rates.beside(strategy.drafters)
    return strategy


def require_chat_template(session: Session) -> None:
    """Raise PromptError if the model has no template for conversations, or the settings do not want it."""
    if session.settings.prompt.template == "raw":
        raise PromptError(
            "a conversation needs the model's chat template, and this model has none or the profile says raw: choose "
            "another model, or lookahead generate --raw for a single text"
        )
