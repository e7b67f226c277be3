"""The README says what is there: every key of a profile, every option, every profile that ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from lookahead_cli.app import app
from lookahead_cli.layers import shown
from lookahead_cli.profile import SECTIONS, allowed, shipped_profiles

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def profile_reference() -> str:
    """The tables that belong between the README's two markers."""
    lines = []
    for section, keys in SECTIONS.items():
        lines += [f"| `[{section}]` | default | what it does | what may stand there |", "|---|---|---|---|"]
        for key, field in keys.model_fields.items():
            lines.append(f"| `{key}` | `{shown(field.default)}` | {field.description} | {allowed(section, key)} |")
        lines.append("")
    return "\n".join(lines)


def test_the_profile_reference_shows_every_key_with_default_meaning_and_range() -> None:
    begin = README.index("-->", README.index("<!-- profile reference")) + len("-->\n")
    end = README.index("<!-- end of profile reference")
    assert README[begin:end].strip() == profile_reference().strip()


def all_commands(group: Any) -> Iterator[Any]:
    """The commands of a group, and those of the groups in it."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from all_commands(command)
        else:
            yield command


def test_every_option_is_described() -> None:
    commands = list(all_commands(typer.main.get_command(app)))
    assert {command.name for command in commands} >= {"generate", "compare", "bench", "check"}
    parameters = [parameter for command in commands for parameter in command.params]
    flags = {flag for parameter in parameters for flag in parameter.opts if flag.startswith("-") and flag != "--help"}
    assert len(flags) > 30
    for flag in flags:
        assert f"`{flag}`" in README or f"`{flag} " in README, f"{flag} is not in the README"


def test_every_shipped_profile_is_named() -> None:
    for path in shipped_profiles().glob("*.toml"):
        assert f"`{path.stem}`" in README
