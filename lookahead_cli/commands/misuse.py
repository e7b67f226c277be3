"""What was typed wrongly, in one sentence that says what to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from lookahead_cli.errors import LookaheadError

if TYPE_CHECKING:
    from typer.exceptions import TyperException

ANSWERING = "lookahead generate"
"""The command that whoever types a prompt alone is looking for."""


HABITS = {"help": "--help", "version": "--version", "run": "generate"}
"""What other programs call what is here, too."""


class Misuse(LookaheadError):
    """A command that is not there."""


class Commands(TyperGroup):
    """Commands, one of which must be named: not run as another one, since a slip would become a prompt."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self.commands:
            raise Misuse(unknown_command(ctx, args))
        return super().resolve_command(ctx, args)


def unknown_command(context: Any, typed: list[str]) -> str:
    """What to type instead of a command that is not there."""
    from lookahead_cli.layers import shown
    from lookahead_cli.profile import nearest

    names = list(context.command.commands)
    said = f"there is no command {shown(typed[0])}"
    if context.command_path != "lookahead":
        return said + (nearest(typed[0], names) or f"; there are {', '.join(names)}")
    if habit := HABITS.get(typed[0]):
        return f'{said}; did you mean "{habit}"?'
    if meant := [path for path, _ in commands_below(context) if path.endswith(f" {typed[0]}")]:
        return f"{said}; did you mean {' or '.join(meant)}?"
    if hint := nearest(typed[0], names):
        return said + hint
    return f"{said}; to have that answered: {ANSWERING} {shlex.quote(shown(typed[0])[1:-1])}"


def explained(error: TyperException) -> str:
    """What is wrong with the command line. Empty if help has been shown in place of that."""
    context = getattr(error, "ctx", None)
    if context is not None and hasattr(error, "possibilities"):
        return unknown_option(error.option_name, context)  # type: ignore[attr-defined] # it is a NoSuchOption
    message = error.format_message().rstrip(".")
    where = "" if context is None else f"{context.command_path} "
    return f"{message[:1].lower()}{message[1:]}; see {where}--help" if message else ""


def unknown_option(typed: str, context: Any) -> str:
    """What to type instead of an option that is not there."""
    from lookahead_cli.profile import nearest

    here = flags_of(context.command)
    said = f"there is no option {typed}"
    owners = [path for path, command in commands_below(context.find_root()) if typed in flags_of(command)]
    if isinstance(context.command, TyperGroup) and owners:
        return f"{said} before a command; did you mean {owners[0]} {typed} ...?"
    beginning = [flag for flag in here if flag.startswith(typed)] if len(typed) > len("--x") else []
    if beginning:
        return f'{said}; did you mean "{beginning[0]}"?'
    if owners:
        return f"{said} here; it is one of {' and '.join(owners)}"
    return said + (nearest(typed, here) or f"; see {context.command_path} --help")


def flags_of(command: Any) -> list[str]:
    """All that begins with a dash."""
    return [flag for parameter in command.params for flag in parameter.opts if flag.startswith("-")]


def commands_below(context: Any) -> Iterator[tuple[str, Any]]:
    """Each command that can be run, by what is typed for it."""
    waiting = [(context.command_path, context.command)]
    while waiting:
        path, command = waiting.pop(0)
        if isinstance(command, TyperGroup):
            waiting += [(f"{path} {name}", below) for name, below in command.commands.items()]
        else:
            yield path, command
