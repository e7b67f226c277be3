"""Conversations in files: a JSON object with the system text and the messages, as most programs write them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from lookahead_cli.chat.conversation import ASSISTANT, USER, Conversation, Turn
from lookahead_cli.errors import PromptError, ResourceError
from lookahead_cli.layers import shortened
from lookahead_cli.models.whole_file import written_whole
from lookahead_cli.text.prompt import decode_prompt, is_unicode

SYSTEM = "system"


def file_named(typed: str) -> Path:
    """The file that was meant, where ~ may stand for a home.

    Raises:
        PromptError: nothing can have that name.
    """
    try:
        path = Path(typed).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            path.stat()
    except (OSError, RuntimeError, ValueError) as error:  # too long, the home of nobody, a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise PromptError(f"{shortened(typed)} cannot be the name of a file: {why}") from None
    return path


def save_conversation(conversation: Conversation, path: Path) -> None:
    """Write the whole conversation to `path`, the dropped turns too. Another conversation there is replaced.

    Raises:
        PromptError: what lies there is something else.
        ResourceError: it cannot be written.
    """
    if path.exists():
        try:
            load_conversation(path)
        except PromptError:
            raise PromptError(f"{path} exists and is no conversation: choose another name") from None
    messages = [{"role": SYSTEM, "content": conversation.system}] if conversation.system else []
    for turn in conversation.turns:
        messages.append({"role": USER, "content": turn.said})
        messages.append({"role": ASSISTANT, "content": turn.answer})
    try:
        with written_whole(path) as unfinished:
            text = json.dumps({"messages": messages}, ensure_ascii=False, indent=1)
            unfinished.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ResourceError(f"{path} cannot be written: {error.strerror or error}") from None


def load_conversation(path: Path) -> Conversation:
    """The conversation in the file at `path`: an object with `messages`, or the bare list of them.

    Raises:
        PromptError: it cannot be read, or is no conversation.
    """
    try:
        if path.is_char_device():  # /dev/zero has no end
            raise PromptError(f"{path} is not a conversation: it is a device")
        content = json.loads(decode_prompt(path.read_bytes(), str(path)))
    except OSError as error:
        raise PromptError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise PromptError(f"{path} is not a conversation: it is not JSON") from None
    messages = content.get("messages") if isinstance(content, dict) else content
    if not isinstance(messages, list):
        raise PromptError(f'{path} is not a conversation: there is no list "messages" in it')
    return _conversation(messages, path)


def _conversation(messages: list[Any], path: Path) -> Conversation:
    conversation = Conversation()
    for number, message in enumerate(messages, 1):
        role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)
        if not isinstance(content, str) or not is_unicode(content):
            raise PromptError(f'{path}: message {number} has no text; it needs "role" and "content"')
        turns = conversation.turns
        if role == SYSTEM and number == 1:
            conversation.system = content
        elif role == USER and (not turns or turns[-1].answer):
            turns.append(Turn(content))
        elif role == ASSISTANT and turns and not turns[-1].answer:
            turns[-1].answer = content
        else:
            raise PromptError(
                f"{path}: message {number} is by {shortened(repr(role))}, which cannot stand there: after a system "
                f'text, if any, "{USER}" and "{ASSISTANT}" take turns'
            )
    if conversation.turns and not conversation.turns[-1].answer:
        conversation.turns.pop()  # never answered: whoever asked can ask again
    return conversation
