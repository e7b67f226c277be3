"""`lookahead profiles` as its user sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest
import tomli

from lookahead_cli.commands import options
from lookahead_cli.commands.profiles import new, show_settings
from lookahead_cli.layers import resolve
from lookahead_cli.profile import SECTIONS, Settings, profile_names, shipped_profiles, user_profiles
from tests.commands.conftest import Lookahead
from tests.commands.screens import Screen


@pytest.fixture
def user(lookahead: Lookahead) -> Path:
    """The user's folder of profiles."""
    folder = user_profiles()
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("command", [show_settings, new])
def test_every_option_that_sets_a_key_is_taken(command: Callable[..., int]) -> None:
    assert set(options.SETTINGS) <= set(signature(command).parameters)


def test_the_list_in_a_pipe_has_a_line_with_tabs_for_each(lookahead: Lookahead, user: Path) -> None:
    (user / "code.toml").write_text("[decoding]\nk = 0\n")
    outcome = lookahead("profiles", "list")
    assert outcome.code == 0
    rows = [line.split("\t") for line in outcome.text.splitlines()]
    assert {row[0] for row in rows} == set(profile_names())
    assert all(len(row) == 4 for row in rows)
    own, shipped = (row for row in rows if row[0] == "code")
    assert own[1:3] == ["", str(user / "code.toml")]
    assert own[3].startswith("faulty: line 2: [decoding] k: 0 is not allowed")
    assert shipped[1:] == ["smollm2-135m", str(shipped_profiles() / "code.toml"), f"the name means {own[2]}"]
    assert [row[0] for row in rows if row[3] == "used when none is named"] == ["default"]


def test_the_list_as_json(lookahead: Lookahead, user: Path) -> None:
    result = json.loads(lookahead("profiles", "list", "--json").stdout)
    assert result["folders"][1] == str(user)
    greedy = next(profile for profile in result["profiles"] if profile["name"] == "greedy")
    assert greedy["model"] == "smollm2-135m"
    assert (greedy["default"], greedy["shadowed_by"], greedy["fault"]) == (False, None, None)


def test_what_is_shown_is_a_profile_that_means_the_same(lookahead: Lookahead) -> None:
    outcome = lookahead("profiles", "show", "chat", "-k", "8", "--stop", "\x1b[31m", "--raw", "--no-stats")
    assert outcome.code == 0
    assert b"\x1b" not in outcome.stdout
    shown = Settings.model_validate(tomli.loads(outcome.text))
    assert shown.decoding.k == 8
    assert shown.decoding.stop == ["\x1b[31m"]
    assert shown.prompt.template == "raw"
    assert shown.decoding.temperature == resolve("chat", environ={}).settings.decoding.temperature


def test_every_value_is_shown_with_where_it_comes_from(
    lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text("[decoding]\n# twice\ntop_k = 3\nk = 9\n")
    monkeypatch.setenv("LOOKAHEAD_TOP_P", "0.5")
    outcome = lookahead("profiles", "show", "./p.toml", "-k", "8")
    assert outcome.text.startswith("# profile p.toml\n")
    lines = {line.partition(" =")[0]: line.partition("  # ")[2] for line in outcome.text.splitlines() if " = " in line}
    assert lines.keys() == {key for keys in SECTIONS.values() for key in keys.model_fields}
    assert lines["top_k"] == "p.toml, line 3"
    assert lines["k"] == "option -k"
    assert lines["top_p"] == "variable LOOKAHEAD_TOP_P"
    assert lines["min_p"] == "default"
    result = json.loads(lookahead("profiles", "show", "./p.toml", "-k", "8", "--json").stdout)
    decoding = result["settings"]["decoding"]
    assert decoding["k"] == {"value": 8, "origin": {"layer": "option", "name": "-k"}}
    assert decoding["top_p"] == {"value": 0.5, "origin": {"layer": "variable", "name": "LOOKAHEAD_TOP_P"}}
    assert decoding["top_k"] == {"value": 3, "origin": {"layer": "profile", "file": "p.toml", "line": 3}}
    assert decoding["min_p"] == {"value": 0.0, "origin": {"layer": "default"}}
    assert result["profile"] == "p.toml"


def test_a_wrong_command_line_is_told_in_one_sentence(lookahead: Lookahead) -> None:
    outcome = lookahead("profiles", "show", "-k", "none")
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert outcome.stderr.startswith('lookahead: option -k: "none" is not allowed')
    assert outcome.stderr.count("\n") == 1
    assert lookahead("profiles", "show", "nowhere").code == 2
    assert lookahead("profiles", "check").code == 2


def test_checking_tells_every_fault_of_every_file(lookahead: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("[decoding]\nk = 3\n")
    (tmp_path / "bad.toml").write_text("[decoding]\nk = 0\nkk = 1\n")
    outcome = lookahead("profiles", "check", "./bad.toml", "./good.toml", "./none.toml", "code")
    assert outcome.code == 2
    assert outcome.stderr == ""
    first, second, third, fourth, fifth = outcome.text.splitlines()
    assert first.startswith("bad.toml, line 2: [decoding] k: 0 is not allowed")
    assert second.startswith("bad.toml, line 3: [decoding] kk is not a known key")
    assert third == "good.toml: fine"
    assert fourth == "none.toml: no such file"
    assert fifth == f"{shipped_profiles() / 'code.toml'}: fine"
    assert lookahead("profiles", "check", "good.toml").code == 0
    result = json.loads(lookahead("profiles", "check", "bad.toml", "good.toml", "--json").stdout)
    assert [len(file["faults"]) for file in result["files"]] == [2, 0]
    assert result["files"][0]["faults"][1]["line"] == 3


def test_a_new_profile_is_found_by_its_name_and_means_what_was_asked(lookahead: Lookahead) -> None:
    outcome = lookahead("profiles", "new", "fast", "-k", "8", "--strategy", "jacobi", "--raw")
    assert outcome.code == 0, outcome.stderr
    file = user_profiles() / "fast.toml"
    assert outcome.text == f"{file}\n"
    assert outcome.stderr == ""
    settings = resolve("fast", environ={}).settings
    assert (settings.decoding.k, settings.decoding.strategy, settings.prompt.template) == (8, "jacobi", "raw")
    assert lookahead("profiles", "check", "fast").text == f"{file}: fine\n"
    assert lookahead("profiles", "path", "fast").text == f"{file}\n"
    again = lookahead("profiles", "new", "fast")
    assert again.code == 2
    assert "it is there already; give --force" in again.stderr
    assert resolve("fast", environ={}).settings == settings
    assert lookahead("profiles", "new", "fast", "--force").code == 0
    assert resolve("fast", environ={}).settings == Settings()


def test_a_new_profile_that_its_name_does_not_mean_is_noted(lookahead: Lookahead) -> None:
    Path("configs").mkdir()
    Path("configs/fast.toml").write_text("")
    assert "note: in this folder --profile fast means configs/fast.toml" in lookahead("profiles", "new", "fast").stderr
    assert "used whenever none is named" in lookahead("profiles", "new", "default").stderr
    assert lookahead("profiles", "new", "configs/default.toml").stderr == ""


@pytest.mark.parametrize("arguments", [("a/b/c",), ("con",), ("fast", "-k", "0"), ("",)])
def test_what_cannot_be_made_is_told_in_one_sentence(lookahead: Lookahead, arguments: tuple[str, ...]) -> None:
    outcome = lookahead("profiles", "new", *arguments)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert outcome.stderr.count("\n") == 1
    assert not user_profiles().exists()


def test_the_folders_are_told_in_the_order_of_lookup(lookahead: Lookahead, tmp_path: Path) -> None:
    folders = lookahead("profiles", "path").text.splitlines()
    assert folders == [str(tmp_path / "configs"), str(user_profiles()), str(shipped_profiles())]
    assert lookahead("profiles", "path", "nowhere").code == 2


def test_a_terminal_shows_settings_whole_and_in_colours(env: dict[str, str]) -> None:
    screen = Screen("profiles", "show", "code", "-k", "8", env=env, lines=60)
    assert screen.wait_for_end() == 0
    rows = screen.rows
    assert rows[1] == "[model]"
    row = next(number for number, text in enumerate(screen.screen.display) if text.startswith("k = 8"))
    assert screen.screen.display[row].rstrip().endswith("# option -k")
    assert screen.color_at(row, screen.screen.display[row].index("#")) == "green"
    assert any(text.startswith("max_new_tokens = 512") and text.endswith("# code.toml, line 6") for text in rows)


@pytest.mark.slow
def test_a_terminal_makes_checks_and_lists_a_profile(env: dict[str, str], tmp_path: Path) -> None:
    screen = Screen("profiles", "new", "fast", "-k", "8", env=env)
    assert screen.wait_for_end() == 0
    file = tmp_path / "lookahead" / "fast.toml"
    assert "".join(screen.rows) == str(file)
    screen = Screen("profiles", "check", str(file), env=env)
    assert screen.wait_for_end() == 0
    assert "".join(screen.rows) == f"{file}: fine"
    screen = Screen("profiles", "list", env=env, columns=200)
    assert screen.wait_for_end() == 0
    own = screen.rows.index(str(file.parent))
    assert screen.rows[own + 1].split() == ["profile", "model", "what", "it", "is"]
    assert screen.rows[own + 3].split()[:2] == ["fast", "smollm2-135m"]
    assert any("default" in row and "(used when none is named)" in row for row in screen.rows)
