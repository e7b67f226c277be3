"""`lookahead chat`: a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.generate import REHEARSAL_NOTE
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.notes import tell
from lookahead_cli.errors import PromptError

if TYPE_CHECKING:
    from lookahead_cli.layers import Resolved
    from lookahead_cli.profile import Settings

ROOMY = 1024
"""Most tokens of an answer where nobody has said how many: answers in a conversation should not be cut."""


def chat(
    context: typer.Context,
    system: options.System = None,
    load: Annotated[
        Path | None,
        options.option(
            options.PROMPT,
            "FILE",
            "Go on with a conversation saved by /save.",
            "--load",
            example="--load talk.json",
        ),
    ] = None,
    no_history: Annotated[
        bool,
        options.flag(
            options.PROMPT,
            "--no-history",
            "Keep nothing of what is typed for later chats.",
            example="--no-history",
        ),
    ] = False,
    profile: options.Profile = None,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    strategy: options.Strategy = None,
    drafters: options.Drafters = None,
    k: options.K = None,
    init: options.Init = None,
    refill: options.Refill = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    min_p: options.MinP = None,
    repetition_penalty: options.RepetitionPenalty = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    stop: options.Stop = None,
    color: options.Color = None,
    theme: options.Theme = None,
    no_stats: options.NoStats = False,
) -> int:
    """Talk with a model: it reads only what is new, and what it learned while guessing serves the next answer.

    /help lists what can be typed beside messages; Ctrl-C stops an answer, Ctrl-D leaves.

    Examples:
        lookahead chat
        lookahead chat --profile chat --system "You are a pirate."
    """
    settings = chat_settings(context.params)
    from lookahead_cli.chat.conversation import Conversation
    from lookahead_cli.chat.saved import load_conversation

    conversation = Conversation() if load is None else load_conversation(load)
    if system is not None or not conversation.system:
        conversation.system = settings.prompt.system

    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console

    notes = console("stderr", settings.display)
    with ProgressStatus(notes) as progress, interrupts_kept():
        progress("loading torch")
        from lookahead_cli.chat.talk import Talk, require_chat_template
        from lookahead_cli.commands.chat_loop import ChatLoop
        from lookahead_cli.session import open_session

        session = open_session(settings, progress)
        require_chat_template(session)
    tell(notes, *session.notices)
    talk = Talk(session, conversation)
    code = ChatLoop(talk, notes, settings, context.params).run()
    if talk.session.rehearse():  # another one by now, if a setting or the model was changed
        tell(notes, REHEARSAL_NOTE)
    return code


def chat_settings(parameters: Mapping[str, Any], profile: str | None = None) -> Settings:
    """The settings of a chat, from its parameters with perhaps another profile.

    Raises:
        ProfileError: something is not allowed.
        PromptError: they say that there is no chat template.
    """
    given = parameters if profile is None else {**parameters, "profile": profile}
    resolved = options.resolve_options(given)
    settings = resolved.settings
    if settings.prompt.template == "raw":
        place = resolved.origins["prompt", "template"]
        raise PromptError(f'{place}: a conversation needs the chat template; set template to "auto" or "chat"')
    return spoken(with_room(resolved))


def spoken(settings: Settings) -> Settings:
    """The settings without `quiet`: in a conversation, what was asked for and what is wrong must be said. All that is
    left out is the line below each answer."""
    display = settings.display
    if not display.quiet:
        return settings
    return settings.model_copy(update={"display": display.model_copy(update={"quiet": False, "stats": False})})


def with_room(resolved: Resolved) -> Settings:
    """The settings with ROOMY answers, if no layer says how long they may become."""
    settings = resolved.settings
    if ("decoding", "max_new_tokens") in resolved.origins:
        return settings
    return settings.model_copy(update={"decoding": settings.decoding.model_copy(update={"max_new_tokens": ROOMY})})
