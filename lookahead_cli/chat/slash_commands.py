"""Lines of a chat that are not for the model: `/set temperature 0.7`."""

from __future__ import annotations

from dataclasses import dataclass

from lookahead_cli.errors import PromptError
from lookahead_cli.profile import nearest

SLASH = "/"


@dataclass(frozen=True)
class SlashCommand:
    """A command of the chat, for the help and the completion."""

    name: str
    argument: str
    """What is to be typed behind it; brackets around what may be left out."""
    meaning: str

    @property
    def usage(self) -> str:
        return f"{SLASH}{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


SLASH_COMMANDS = {
    command.name: command
    for command in (
        SlashCommand("help", "", "this list"),
        SlashCommand("retry", "", "another answer to what you said last; with a temperature other words"),
        SlashCommand("reset", "", "forget the conversation, keep the system text"),
        SlashCommand("system", "[TEXT|none]", "show or replace the system text"),
        SlashCommand("set", "[KEY VALUE]", "show or change a key of [decoding], such as: /set temperature 0.7"),
        SlashCommand("profile", "NAME|FILE", "go on with another profile, and its model"),
        SlashCommand("stats", "", "how much was read and written, and how fast"),
        SlashCommand("save", "FILE", "keep the conversation in a file"),
        SlashCommand("load", "FILE", "go on with the conversation in a file"),
        SlashCommand("exit", "", "leave; so does Ctrl-D"),
    )
}


ALIASES = {"quit": "exit", "bye": "exit", "clear": "reset", "?": "help"}
"""What other programs call them."""


@dataclass(frozen=True)
class Order:
    """A slash command as it was typed."""

    name: str
    argument: str


def read_order(line: str) -> Order | None:
    """The order that `line` gives; None if it is for the model. A line that begins with two slashes is, without the
    first of them.

    Raises:
        PromptError: there is no such command, or it lacks what it needs.
    """
    if not line.startswith(SLASH) or line.startswith(SLASH * 2):
        return None
    name, _, argument = line[len(SLASH) :].partition(" ")
    command = SLASH_COMMANDS.get(ALIASES.get(name, name))
    if command is None:
        raise PromptError(
            f"/{name} is not a command{nearest(SLASH + name, completions(SLASH))}; /help lists them (to say something "
            "that begins with a slash, type two)"
        )
    argument = argument.strip()
    if argument and not command.argument:
        raise PromptError(f"/{name} takes nothing behind it: type {command.usage}")
    if command.needs_argument and not argument:
        raise PromptError(f"/{name} lacks something: type {command.usage}")
    return Order(command.name, argument)


def said(line: str) -> str:
    """What a line that is no order says to the model."""
    return line[len(SLASH) :] if line.startswith(SLASH * 2) else line


def completions(before: str) -> list[str]:
    """What the last word of `before`, a line up to the cursor, may be meant to become."""
    from lookahead_cli.profile import DecodingSettings, choices, profile_names

    words = before.split(" ")
    if not before.startswith(SLASH) or "\n" in before:
        return []
    if len(words) == 1:
        known = [SLASH + name for name in SLASH_COMMANDS]
    elif words[0] == "/set" and len(words) == 2:
        known = list(DecodingSettings.model_fields)
    elif words[0] == "/set" and len(words) == 3 and words[1] in DecodingSettings.model_fields:
        known = choices("decoding", words[1])
    elif words[0] == "/profile" and len(words) == 2:
        known = profile_names()
    else:
        known = []
    return [word for word in known if word.startswith(words[-1])]
