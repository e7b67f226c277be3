"""The README says what is there: every key of a profile, every option, every profile that ships."""

from __future__ import annotations

from pathlib import Path

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


def test_every_option_is_described() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) >= {"generate", "compare", "bench", "models"}
    groups = [group.commands for group in commands.values() if hasattr(group, "commands")]
    every = [*commands.values(), *(command for group in groups for command in group.values())]
    parameters = [parameter for command in every for parameter in command.params]
    flags = {flag for parameter in parameters for flag in parameter.opts if flag.startswith("-") and flag != "--help"}
    assert len(flags) > 30
    for flag in flags:
        assert f"`{flag}`" in README or f"`{flag} " in README, f"{flag} is not in the README"


def test_every_shipped_profile_is_named() -> None:
    for path in shipped_profiles().glob("*.toml"):
        assert f"`{path.stem}`" in README
