"""Profiles: what they may say, what is said about mistakes, and which layer wins."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import Resolved, load_settings, resolve, variable
from lookahead_cli.profile import SECTIONS, Settings, allowed, choices, profile_names, shipped_profiles

ROOT = Path(__file__).parent.parent
TEMPERATURE = ("option --temperature", ("decoding", "temperature"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No profile or variable of whoever runs the tests plays a part."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in list(os.environ):
        if name.startswith("LOOKAHEAD_"):
            monkeypatch.delenv(name)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "p.toml"
    path.write_text(text)
    return str(path)


def complaint(tmp_path: Path, text: str) -> str:
    path = written(tmp_path, text)
    with pytest.raises(ProfileError) as caught:
        resolve(path, environ={})
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_flags_beat_environment_beats_profile_beats_defaults(tmp_path: Path) -> None:
    path = written(tmp_path, "[decoding]\ntemperature = 0.5\ntop_p = 0.5\ntop_k = 5\n")
    environ = {"LOOKAHEAD_TEMPERATURE": "0.6", "LOOKAHEAD_TOP_P": "0.6"}
    resolved = resolve(path, {TEMPERATURE: 0.7}, environ)
    decoding = resolved.settings.decoding
    assert (decoding.temperature, decoding.top_p, decoding.top_k, decoding.min_p) == (0.7, 0.6, 5, 0.0)
    assert str(resolved.origins["decoding", "temperature"]) == "option --temperature"
    assert str(resolved.origins["decoding", "top_p"]) == "variable LOOKAHEAD_TOP_P"
    assert str(resolved.origins["decoding", "top_k"]) == f"profile {path}, line 4: [decoding] top_k"
    assert ("decoding", "min_p") not in resolved.origins


def test_the_variable_names_the_profile_and_the_flag_beats_it(tmp_path: Path) -> None:
    path = written(tmp_path, "[decoding]\nk = 3\n")
    assert resolve(environ={"LOOKAHEAD_PROFILE": path}).settings.decoding.k == 3
    assert resolve("greedy", environ={"LOOKAHEAD_PROFILE": path}).settings.decoding.strategy == "greedy"
    assert resolve(environ={"LOOKAHEAD_MODEL": "./here"}).settings.model.source == "./here"


def test_the_draft_model_has_names_of_its_own_where_there_are_no_tables() -> None:
    environ = {"LOOKAHEAD_DRAFT_MODEL": "a/small", "LOOKAHEAD_DRAFT_REVISION": "v1", "LOOKAHEAD_REVISION": "v2"}
    settings = resolve(environ=environ).settings
    assert (settings.draft.source, settings.draft.revision, settings.model.revision) == ("a/small", "v1", "v2")
    settings = load_settings(source="./large", revision="v3", draft_model="./small", draft_revision="v4")
    assert (settings.model.source, settings.model.revision) == ("./large", "v3")
    assert (settings.draft.source, settings.draft.revision) == ("./small", "v4")
    with pytest.raises(ProfileError, match="draft_model: 3 is not allowed"):
        load_settings(draft_model=3)


def test_names_are_looked_up_in_the_working_folder_then_the_users_then_the_shipped(tmp_path: Path) -> None:
    user, working = tmp_path / "user" / "lookahead", tmp_path / "work" / "configs"
    assert resolve("code", environ={}).profile == shipped_profiles() / "code.toml"
    user.mkdir(parents=True)
    (user / "code.toml").write_text("[decoding]\nk = 7\n")
    assert resolve("code", environ={}).settings.decoding.k == 7
    working.mkdir()
    (working / "code.toml").write_text("[decoding]\nk = 8\n")
    assert resolve("code", environ={}).settings.decoding.k == 8


def test_an_unnamed_profile_is_the_users_default_but_never_one_that_lies_in_the_working_folder(tmp_path: Path) -> None:
    working = tmp_path / "work" / "configs"
    working.mkdir()
    (working / "default.toml").write_text("[some_other_program]\n")
    assert resolve(environ={}).profile == shipped_profiles() / "default.toml"
    user = tmp_path / "user" / "lookahead"
    user.mkdir(parents=True)
    (user / "default.toml").write_text("[decoding]\nk = 9\n")
    assert resolve(environ={}).settings.decoding.k == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[decoding]\ntemprature = 1\n", ['[decoding] temprature is not a known key; did you mean "temperature"?']),
        ("[model]\ntemperature = 1\n", ["[model] temperature", "it belongs under [decoding]"]),
        ("[decodin]\nk = 1\n", ["p.toml, line 1: [decodin] is not a known table", 'did you mean "decoding"?']),
        ("#\ndecoding = 3\n", ["p.toml, line 2: decoding must be a table", "3"]),
        ("k = 3\n", ["[k] is not a known table; k belongs under [decoding]"]),
        ("[decoding]\nk = 0\n", ["line 2: [decoding] k: 0 is not allowed", '"auto" or a whole number from 1']),
        ("[decoding]\nstop = [\n'',\n]\nkk = 1", ["p.toml, line 5: [decoding] kk is not a known key"]),
        ("decoding = {\nk = 0\n}", ["p.toml: [decoding] k: 0 is not allowed"]),
        ("[decoding]\nk = true\n", ["k: true is not allowed"]),
        ('[decoding]\nk = "4"\n', ['k: "4" is not allowed']),
        ('[decoding]\ntemperature = "hot"\n', ['temperature: "hot" is not allowed', "from 0.01"]),
        ("[decoding]\ntemperature = 0.001\n", ["temperature: 0.001 is not allowed"]),
        ("[decoding]\ntemperature = inf\n", ["temperature: inf is not allowed"]),
        ("[decoding]\ntop_p = 1.5\n", ["top_p: 1.5 is not allowed", "at most 1"]),
        ("[decoding]\nrepetition_penalty = 0\n", ["repetition_penalty: 0 is not allowed"]),
        ("[decoding]\nseed = -1\n", ["seed: -1 is not allowed"]),
        ("[decoding]\nstop = [1]\n", ["stop: [1] is not allowed"]),
        ('[decoding]\nstrategy = "jakobi"\n', ['strategy: "jakobi" is not allowed', 'did you mean "jacobi"?']),
        ('[decoding]\nrefill = "cary"\n', ['did you mean "carry"?']),
        ('[model]\nsource = ""\n', ['source: "" is not allowed']),
        ('[model]\ndevice = "gpu"\n', ['device: "gpu" is not allowed']),
        ('[model]\nallow = ["pickles"]\n', ["allow", "pickles", '"pickle" and "remote-code"']),
        ("[model]\nthreads = 1.5\n", ["threads: 1.5 is not allowed"]),
        ("[display]\nstats = 1\n", ["stats: 1 is not allowed", "true or false"]),
        ("[decoding\nk = 1\n", ["not valid TOML", "line 1"]),
        ("[decoding]\nk = 1\nk = 2\n", ["not valid TOML", "line 3"]),
        ("[decoding]\nstop = " + "[" * 3000 + "]" * 3000, ["nested too deeply"]),
        ("[decoding]\nk = " + "9" * 5000, ["not valid TOML"]),
        ("[decoding]\nk = 0x" + "f" * 9000, ["k: a number of many digits is not allowed"]),
    ],
)
def test_a_mistake_in_a_profile_is_told_in_one_sentence(tmp_path: Path, text: str, said: list[str]) -> None:
    message = complaint(tmp_path, text)
    for part in said:
        assert part in message


def test_a_mistake_elsewhere_names_the_place() -> None:
    with pytest.raises(ProfileError, match="variable LOOKAHEAD_K: 0 is not allowed"):
        resolve(environ={"LOOKAHEAD_K": "0"})
    with pytest.raises(ProfileError, match='option --temperature: "warm" is not allowed'):
        resolve(given={TEMPERATURE: "warm"}, environ={})


def test_risks_can_be_allowed_in_a_profile_only(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="variable LOOKAHEAD_ALLOW: a risk is taken in a profile only"):
        resolve(environ={"LOOKAHEAD_ALLOW": "pickle"})
    assert resolve(written(tmp_path, '[model]\nallow = ["pickle"]\n'), environ={}).settings.model.allow == ["pickle"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_a_profile_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ProfileError, match=re.escape(str(path))):
        resolve(str(path), environ={})


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_every_profile_that_ships_is_valid_and_found_by_name(path: Path) -> None:
    assert isinstance(resolve(path.stem, environ={}), Resolved)
    assert path.stem in profile_names()
    assert path.read_text().startswith("# ")


def test_what_is_no_file_is_no_profile_that_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "dangling.toml").symlink_to("nowhere")
    (tmp_path / "configs" / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "configs" / "folder.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not {"dangling", "loop", "folder"} & set(profile_names())
    with pytest.raises(ProfileError) as told:
        resolve("loop", environ={})
    assert 'did you mean "loop"' not in str(told.value)


def test_the_template_shows_every_key_with_its_default() -> None:
    text = (ROOT / "configs" / "template.toml").read_text()
    assert tomli.loads(text) == Settings().model_dump(mode="json")
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if " = " in line and not line.startswith("#"):
            assert lines[number - 1].startswith("#"), f"no comment above {line}"


def test_the_default_profile_is_the_defaults() -> None:
    assert resolve(environ={}).settings == Settings()


@pytest.mark.parametrize(
    ("typed", "key", "value"),
    [
        (".8", "temperature", 0.8),
        ("1.", "top_p", 1.0),
        ("1e-1", "min_p", 0.1),
        ("007", "seed", 7),
        ("16", "k", 16),
        ("auto", "k", "auto"),
        ("5", "stop", ["5"]),
    ],
)
def test_values_are_read_as_people_type_them(typed: str, key: str, value: Any) -> None:
    assert getattr(resolve(environ={variable("decoding", key): typed}).settings.decoding, key) == value


def test_words_are_offered_once_each_for_completion() -> None:
    assert choices("model", "dtype") == ["auto", "float32", "bfloat16", "float16"]
    assert choices("decoding", "init") == ["random", "copy-last", "model"]


@pytest.mark.parametrize("name", ["", "x" * 300, "~nobody-of-that-name/p.toml", "a/b\0c"])
def test_a_name_that_cannot_be_a_profile_is_told_in_one_sentence(name: str) -> None:
    with pytest.raises(ProfileError, match="profile"):
        resolve(name, environ={})


def test_strategies_are_those_of_the_registry() -> None:
    assert choices("decoding", "strategy") == list(STRATEGIES)
    assert all(name in allowed("decoding", "strategy") for name in STRATEGIES)


def test_variables_are_unambiguous() -> None:
    names = [variable(section, key) for section, keys in SECTIONS.items() for key in keys.model_fields]
    assert len(set(names)) == len(names)


values = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=8), st.lists(st.text(max_size=3), max_size=2)
)
keys = st.sampled_from([(section, key) for section, keys in SECTIONS.items() for key in keys.model_fields])


@given(st.dictionaries(keys, values, max_size=4))
def test_any_value_anywhere_is_taken_or_told_in_one_sentence(given_values: dict[tuple[str, str], Any]) -> None:
    given = {(f"option --{key}", (section, key)): value for (section, key), value in given_values.items()}
    message = ""
    try:
        settings = resolve(given=given, environ={}).settings
        assert Settings.model_validate(settings.model_dump()) == settings
    except ProfileError as error:
        message = str(error)
    assert not message or (message.startswith("option --") and "it must be" in message)
