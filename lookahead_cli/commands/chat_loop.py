"""The chat itself: a message or a slash command, what comes of it, and the next one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.saved import file_named, load_conversation, save_conversation
from lookahead_cli.chat.slash_commands import SLASH_COMMANDS, Order, completions, read_order, said
from lookahead_cli.chat.talk import Talk, require_chat_template
from lookahead_cli.commands.chat_input import keys_unseen, line_editor, piped_messages, typed_messages
from lookahead_cli.commands.interrupts import interrupts_end_attempts, interrupts_kept, stops_noted
from lookahead_cli.commands.notes import tell
from lookahead_cli.commands.output import writing_output
from lookahead_cli.errors import FAILURES, OutputFailed, PromptError, ReaderGone
from lookahead_cli.layers import shown
from lookahead_cli.render.chat_stats import brief, chat_stats
from lookahead_cli.render.live import LiveRenderer
from lookahead_cli.render.palette import NOTE
from lookahead_cli.render.plain import PlainRenderer
from lookahead_cli.render.progress import ProgressStatus
from lookahead_cli.render.summary import counted
from lookahead_cli.render.terminal import console
from lookahead_cli.text.prompt import is_unicode
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from lookahead_cli.decoding.events import Event
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.profile import Settings
    from lookahead_cli.render import CutShort, Renderer


@dataclass
class ChatLoop:
    """One run of `lookahead chat`. With a pipe for its input only answers come out, and what is wrong ends it."""

    talk: Talk
    notes: Console
    settings: Settings
    """As they were asked for."""
    parameters: Mapping[str, Any]
    """Of the command: they hold for every profile."""
    typed: bool = field(default_factory=lambda: sys.stdin is not None and sys.stdin.isatty())
    """Whether somebody sits at a terminal."""
    left: bool = False

    def run(self) -> int:
        """Until the input ends; returns the exit code."""
        if not self.typed:
            for message in piped_messages(lambda: b"" if sys.stdin is None else sys.stdin.buffer.readline()):
                self._heed(message)
                if self.left:
                    break
            return 0
        self.say(f"{self.talk.session.settings.model.source} · /help lists what can be typed, Ctrl-D leaves")
        if (loaded := self.parameters.get("load")) is not None:
            self.tell_turns(loaded)
        with interrupts_end_attempts() as attempt:
            for message in self._typed_messages():
                with keys_unseen():
                    heeded = attempt(partial(self._heed_typed, message))
                if not heeded:
                    self._forget_unanswered()
                    self.say("interrupted")
                if self.left:
                    break
        return 0

    def say(self, *lines: str) -> None:
        """Tell the user something that is not an answer."""
        for line in lines:
            self.notes.print(visible(line), style="dim", soft_wrap=True)

    def _typed_messages(self) -> Iterator[str]:
        keeps = self.talk.session.settings.chat.history and not self.parameters.get("no_history")
        editor = line_editor(history_file() if keeps else None, completions)
        return typed_messages(editor, lambda: self.say("Ctrl-D or /exit leaves"))

    def _heed(self, message: str) -> None:
        """Answer, or obey."""
        order = read_order(message)
        if order is not None:
            self._obey(order)
        elif message:
            self._answer(said(message))

    def _heed_typed(self, message: str) -> None:
        """The same with a sentence about what was wrong, and the chat goes on."""
        try:
            self._heed(message)
        except (OutputFailed, ReaderGone):  # nobody would see the next answer
            raise
        except FAILURES as error:
            self.notes.print(visible(" ".join(str(error).split())), style=NOTE, soft_wrap=True)

    def _answer(self, message: str) -> None:
        """Have the model answer, and show it as it comes."""
        require_text(message)
        dropped = self.talk.conversation.dropped
        with writing_output(), stops_noted() as stopped:
            try:
                generation, events = self._begin(message, stopped)
            except KeyboardInterrupt:
                self._forget_unanswered()
                if not self.typed:
                    raise
                self.say("interrupted before there was an answer")
                return
            gone = self.talk.conversation.dropped - dropped
            if gone:
                tell(self.notes, f"the context is full: the model is not shown the {gone} oldest turns any more")
            try:
                cut_short = show(generation, events, self._renderer(), stopped)
            finally:
                self.talk.keep()
        if cut_short and not self.typed:
            raise KeyboardInterrupt  # nobody is there who could say how it is to go on
        self._conclude(generation, cut_short)

    def _begin(self, message: str, stopped: Callable[[], bool]) -> tuple[Generation, Iterator[Event]]:
        """Read what is new."""
        with ProgressStatus(self.notes) as status:

            def progress(activity: str, fraction: float | None = None) -> None:
                if stopped():
                    raise KeyboardInterrupt
                status(activity, fraction)

            generation = self.talk.ask(message, progress)
            events = iter(generation)
            try:
                next(events)
            except FAILURES:
                self._forget_unanswered()
                raise
        return generation, events

    def _forget_unanswered(self) -> None:
        if self.talk.conversation.turns and not self.talk.conversation.turns[-1].answer:
            self.talk.take_back()

    def _renderer(self) -> Renderer:
        settings = self.talk.session.settings
        output = console("stdout", settings.display)
        if output.is_terminal or settings.display.color == "always":
            silent = settings.display.model_copy(update={"stats": False})
            return LiveRenderer(output, self.notes, settings.model_copy(update={"display": silent}))
        return AnswerLines(sys.stdout)

    def _conclude(self, generation: Generation, cut_short: CutShort | None) -> None:
        """What is to be known about the answer."""
        settings = self.talk.session.settings
        if self.typed and settings.display.stats:
            self.notes.print(brief(generation, cut_short))
        if generation.finish_reason == "length":
            most = settings.decoding.max_new_tokens
            tell(self.notes, f"the answer was cut at {most} tokens; for longer ones: /set max_new_tokens {2 * most}")
        elif generation.finish_reason == "context":
            tell(self.notes, "the context is full: the answer was cut there")
        elif not generation.text and cut_short is None:
            tell(self.notes, "the model has nothing to say to that")

    def _obey(self, order: Order) -> None:
        ORDERS[order.name](self, order.argument)

    def list_orders(self, argument: str) -> None:
        widest = max(len(command.usage) for command in SLASH_COMMANDS.values())
        self.say(*(f"{command.usage:{widest}}  {command.meaning}" for command in SLASH_COMMANDS.values()))
        self.say("", 'Alt-Enter begins a new line; many lines may stand between """ and """.')
        self.say("Ctrl-C stops an answer, Ctrl-D leaves; the arrow keys bring back what was typed.")

    def leave(self, argument: str) -> None:
        self.left = True

    def retry(self, argument: str) -> None:
        before = self.talk.conversation
        before = replace(before, turns=[*before.turns])
        message = self.talk.take_back()
        if self.talk.session.settings.decoding.temperature:
            self.talk.next_seed()
        else:
            self.say("at temperature 0 the answer is the same each time; for another one: /set temperature 0.7")
        try:
            self._answer(message)
        finally:
            turns = self.talk.conversation.turns
            if len(turns) < len(before.turns) or not turns[-1].answer:  # there is no new one: the old one stays
                self.talk.conversation = before

    def reset(self, argument: str) -> None:
        self.talk.conversation = Conversation(self.talk.conversation.system)
        self.say("the conversation is forgotten")

    def system(self, argument: str) -> None:
        if argument:
            require_text(argument)
            self.talk.conversation.system = "" if argument == "none" else argument
        text = self.talk.conversation.system
        none = "there is no system text of yours; the model's template may add one"
        self.say(f"system text: {text}" if text else none)

    def set(self, argument: str) -> None:
        key, _, value = argument.partition(" ")
        if key and not value.strip():
            raise PromptError(f"/set {key} lacks a value: type /set KEY VALUE")
        if key:
            self.talk.set_value(key, value.strip())
        decoding = self.talk.session.settings.decoding.model_dump()
        self.say(*(f"{name} = {shown(value)}" for name, value in decoding.items() if key in ("", name)))

    def profile(self, argument: str) -> None:
        from lookahead_cli.commands.chat import chat_settings
        from lookahead_cli.session import open_session

        settings = chat_settings(self.parameters, argument)
        if (settings.model, settings.draft) == (self.settings.model, self.settings.draft):
            self.talk.decode_with(settings.decoding, settings.display)
        else:
            with ProgressStatus(self.notes) as progress, interrupts_kept():
                session = open_session(settings, progress)
            require_chat_template(session)
            self.talk.session.keep_hit_rates()
            self.talk.continue_with(session)
        self.settings = settings
        tell(self.notes, *self.talk.session.notices)
        if settings.prompt.system:
            self.talk.conversation.system = settings.prompt.system
        self.say(f"now with profile {argument}: {settings.model.source}")

    def stats(self, argument: str) -> None:
        self.say(*chat_stats(self.talk))

    def save(self, argument: str) -> None:
        save_conversation(self.talk.conversation, file_named(argument))
        self.say(f"saved in {argument}")

    def load(self, argument: str) -> None:
        conversation = load_conversation(file_named(argument))
        conversation.system = conversation.system or self.talk.conversation.system
        self.talk.conversation = conversation
        self.tell_turns(argument)

    def tell_turns(self, file: str | Path) -> None:
        """What has been loaded."""
        self.say(f"{counted(len(self.talk.conversation.turns), 'turn')} from {file}")


ORDERS: dict[str, Callable[[ChatLoop, str], None]] = {
    "help": ChatLoop.list_orders,
    "retry": ChatLoop.retry,
    "reset": ChatLoop.reset,
    "system": ChatLoop.system,
    "set": ChatLoop.set,
    "profile": ChatLoop.profile,
    "stats": ChatLoop.stats,
    "save": ChatLoop.save,
    "load": ChatLoop.load,
    "exit": ChatLoop.leave,
}


class AnswerLines(PlainRenderer):
    """The bare text of each answer, and a line break behind it."""

    def close(self, generation: Generation, cut_short: CutShort | None = None) -> None:
        self.file.write("\n")
        self.file.flush()


def show(
    generation: Generation, events: Iterator[Event], renderer: Renderer, stopped: Callable[[], bool]
) -> CutShort | None:
    """Show the steps until the answer ends or somebody stops it; says what cut it short, if anything did."""
    from lookahead_cli.decoding.events import StepEvent

    cut_short: CutShort | None = None
    try:
        for event in events:
            if isinstance(event, StepEvent):
                renderer.show(event)
            if stopped():
                cut_short = "interrupted"
                break
    except KeyboardInterrupt:
        cut_short = "interrupted"
    except FAILURES:
        renderer.close(generation, cut_short="failed")
        raise
    renderer.close(generation, cut_short)
    return cut_short


def require_text(typed: str) -> None:
    """Raise PromptError for what is no text: a terminal passes on whatever is pasted into it."""
    if not is_unicode(typed):
        raise PromptError("this is not UTF-8 text: give it as UTF-8")


def history_file() -> Path:
    """Where what is typed is kept for the arrow keys of later chats."""
    return platformdirs.user_state_path("lookahead") / "chat-history"
