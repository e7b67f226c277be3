"""The README says what is there: every command, option, exit code and key of a profile, every profile that ships."""

from __future__ import annotations

import re

import pytest

from lookahead_cli.profile import shipped_profiles
from tests.readme import README, commands, described, parts, root, standing, written

TEXT = README.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", parts())
def test_what_is_written_from_the_program_is_up_to_date(name: str) -> None:
    shown = dict(standing(TEXT))
    assert name in shown, f"the README needs the markers of {name!r}; tests/readme.py says what they look like"
    assert shown[name] == parts()[name], "python -m tests.readme writes it"


def test_nothing_stands_there_that_the_program_does_not_have() -> None:
    assert {name for name, _ in standing(TEXT)} == set(parts())


def test_a_change_in_the_help_or_in_the_readme_is_noticed() -> None:
    changed = TEXT.replace("Most tokens to generate. |", "Fewest tokens to generate. |")
    assert changed != TEXT
    assert dict(standing(changed))["options of generate"] != parts()["options of generate"]
    assert written(changed) == TEXT


def test_every_option_is_described() -> None:
    every = [each for command in [root(), *commands().values()] for each in described(command)]
    flags = {flag for each in every for flag in each.flags if flag.startswith("-")}
    assert len(flags) > 50
    for flag in flags:
        assert re.search(rf"`[^`]*{re.escape(flag)}\b[^`]*`", TEXT), f"{flag} is not in the README"


def test_every_command_has_a_section_that_shows_it() -> None:
    for name in commands():
        assert f"\nlookahead {name} " in TEXT, f"the README shows no command line of {name}"


def test_every_shipped_profile_is_named() -> None:
    for path in shipped_profiles().glob("*.toml"):
        assert f"`{path.stem}`" in TEXT
