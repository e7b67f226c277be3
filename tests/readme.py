"""The parts of the README that are written from the program. `python -m tests.readme` writes them anew.

Each stands between two markers, `<!-- NAME: ... -->` and `<!-- end of NAME -->`, wherever that is in the README.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from lookahead_cli.app import app
from lookahead_cli.commands.misuse import commands_below
from lookahead_cli.commands.options import EXAMPLE
from lookahead_cli.errors import EXIT_CODES
from lookahead_cli.layers import shown
from lookahead_cli.profile import SECTIONS, allowed

README = Path(__file__).parent.parent / "README.md"
BASE = "generate"
"""The command whose options are described once for all."""


@dataclass(frozen=True)
class Described:
    """An option or argument as the help has it."""

    flags: tuple[str, ...]
    line: str
    example: str
    required: bool

    @property
    def names(self) -> str:
        return ", ".join(f"`{flag}`" for flag in self.flags)

    @property
    def row(self) -> str:
        """In a table; a bar there has to be escaped."""
        line = re.sub(r"(?<![\w`-])(--?[a-z][\w-]*|\{\w+\})", r"`\1`", self.line)
        cells = (self.names, line, f"`{self.example}`")
        escaped = [cell.replace("|", r"\|") for cell in cells]
        return f"| {' | '.join(escaped)} |"


@cache
def root() -> Any:
    """The whole program as click sees it."""
    return typer.main.get_command(app)


@cache
def commands() -> dict[str, Any]:
    """Every command that can be run, by what is typed for it behind `lookahead`: "models pull"."""
    context = root().make_context("lookahead", [BASE], resilient_parsing=True)
    return {path.removeprefix("lookahead "): command for path, command in commands_below(context)}


def described(command: Any) -> list[Described]:
    """All that may be typed behind it, but for --help."""
    found = []
    for parameter in command.params:
        if "--help" in parameter.opts or getattr(parameter, "hidden", False):
            continue
        line, _, example = (parameter.help or "").partition(EXAMPLE)
        flags = tuple(parameter.opts) if parameter.param_type_name == "option" else (parameter.metavar,)
        found.append(Described(flags, line, example.removesuffix("[/dim]"), parameter.required))
    return found


def option_table(name: str) -> str:
    """What is to be known about the options of a command, or of all in a group: a row for each, but for those that are
    as in `generate`."""
    command = root().commands[name]
    below = {f"{name} {each}": each for each in getattr(command, "commands", {})} or {name: ""}
    base = [] if name == BASE else described(commands()[BASE])
    rows, same = [], []
    for path, short in below.items():
        every = described(commands()[path])
        rows += [f"| `{short}` {each.row}" if short else each.row for each in every if each not in base]
        if shared := [f"`{each.flags[0]}`" for each in every if each in base]:
            same += ["", f"{f'`{short}`, as' if short else 'As'} for `{BASE}`: {', '.join(shared)}."]
    heads = [f"`lookahead {name}`"] * (name not in below) + ["option", "what it does", "for example"]
    table = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *rows] if rows else []
    return "\n".join([*table, *same]).strip()


def command_table() -> str:
    """The first sentence of each command."""
    rows = [f"| `lookahead {name}` | {command.help.splitlines()[0]} |" for name, command in commands().items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["| exit code | meaning |", "|---|---|", *rows])


def profile_reference() -> str:
    """A table for each section of a profile."""
    lines = []
    for section, keys in SECTIONS.items():
        lines += [f"| `[{section}]` | default | what it does | what may stand there |", "|---|---|---|---|"]
        for key, field in keys.model_fields.items():
            lines.append(f"| `{key}` | `{shown(field.default)}` | {field.description} | {allowed(section, key)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def parts() -> dict[str, str]:
    """Everything that is written from the program, by its name."""
    return {
        "commands": command_table(),
        "exit codes": exit_codes(),
        "profile reference": profile_reference(),
        **{f"options of {name}": option_table(name) for name in root().commands},
    }


def standing(text: str) -> Iterator[tuple[str, str]]:
    """Name and content of each part that stands in `text`."""
    for found in re.finditer(r"<!-- ([a-z -]+): [^>]*-->\n(.*?)\n<!-- end of \1 -->", text, re.DOTALL):
        yield found[1], found[2].strip()


def written(text: str) -> str:
    """`text` with each of its parts as it should be."""
    for name, content in parts().items():
        whole = re.compile(rf"<!-- {name}: [^>]*-->\n.*?<!-- end of {name} -->", re.DOTALL)
        new = f"<!-- {name}: written by python -m tests.readme -->\n\n{content}\n\n<!-- end of {name} -->"
        text = whole.sub(new.replace("\\", r"\\"), text)
    return text


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
