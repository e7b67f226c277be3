"""A new profile means what was asked for and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.layers import resolve
from lookahead_cli.profile import SECTIONS, Settings, shipped_profiles, user_profiles
from lookahead_cli.profile_check import profile_faults
from lookahead_cli.profile_writing import new_profile, place_for, write_profile

KEYS = [(section, key) for section, keys in SECTIONS.items() for key in keys.model_fields]
SAMPLES: dict[tuple[str, str], Any] = {
    ("model", "source"): "owner/name",
    ("model", "device"): "cpu",
    ("model", "threads"): 3,
    ("decoding", "strategy"): "jacobi",
    ("decoding", "drafters"): ["copies", "jacobi"],
    ("decoding", "k"): 8,
    ("decoding", "seed"): 2**62,
    ("decoding", "temperature"): 0.7,
    ("decoding", "stop"): ["\n\n", 'a "b" \\ \x1b', "日本"],
    ("prompt", "system"): "two\nlines\t# no comment\u2028",
    ("display", "stats"): False,
}


NAMELESS = ["", ".", "..", "a\nb", "a\0b", "con", "x" * 300, ".hidden", "a:b", "a*", "end.", "\udc80"]


def named(values: dict[tuple[str, str], Any]) -> dict[tuple[str, tuple[str, str]], Any]:
    return {(f"option --{key}", (section, key)): value for (section, key), value in values.items()}


def meant(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    assert profile_faults(path) == []
    return resolve(str(path), environ={}).settings


@given(st.sets(st.sampled_from(sorted(SAMPLES))))
def test_it_says_what_was_asked_and_leaves_the_rest_open(chosen: set[tuple[str, str]]) -> None:
    text = new_profile(named({key: SAMPLES[key] for key in chosen}))
    tables = tomli.loads(text)
    said = {(section, key): value for section, table in tables.items() for key, value in table.items()}
    assert said == {key: SAMPLES[key] for key in chosen}


def test_all_together_are_valid(tmp_path: Path) -> None:
    settings = meant(tmp_path, new_profile(named(SAMPLES)))
    for (section, key), value in SAMPLES.items():
        assert getattr(getattr(settings, section), key) == value


def test_nothing_asked_means_the_defaults_and_every_key_is_ready_to_be_used(tmp_path: Path) -> None:
    text = new_profile({})
    assert meant(tmp_path, text) == Settings()
    whole = re.sub(r"^#(\w)", r"\1", text, flags=re.MULTILINE)
    assert tomli.loads(whole) == tomli.loads((shipped_profiles() / "template.toml").read_text())
    assert all(f"\n#{key} = " in text for _, key in KEYS)


def test_a_wrong_value_is_refused_by_the_name_of_its_option() -> None:
    with pytest.raises(ProfileError, match="option --k: 0 is not allowed"):
        new_profile(named({("decoding", "k"): 0}))


def test_options_that_no_run_could_use_together_are_refused() -> None:
    both = {("prompt", "system"): "be brief", ("prompt", "template"): "raw"}
    with pytest.raises(ProfileError, match="option --system: a system text needs a chat template"):
        new_profile(named(both))


def test_a_model_that_lies_here_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").mkdir()
    monkeypatch.chdir(tmp_path)
    for source, whole in [
        ("m", str(tmp_path / "m")),
        ("./not-yet", str(tmp_path / "not-yet")),
        ("owner/name", "owner/name"),
        ("smollm2-135m", "smollm2-135m"),
    ]:
        text = new_profile(named({("model", "source"): source}))
        assert tomli.loads(text)["model"]["source"] == whole


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("fast", "user/fast.toml"),
        ("fast.v2", "user/fast.v2.toml"),
        ("my profile", "user/my profile.toml"),
        ("here.toml", "here.toml"),
        ("configs/fast", "configs/fast.toml"),
        ("configs/fast.v2", "configs/fast.v2.toml"),
        ("./fast.toml", "fast.toml"),
    ],
)
def test_where_it_is_written(name: str, place: str) -> None:
    assert place_for(name) == Path(str(user_profiles()) + place.removeprefix("user") if "user" in place else place)


@pytest.mark.parametrize("name", NAMELESS)
def test_what_cannot_be_a_file_name_is_refused(name: str) -> None:
    with pytest.raises(ProfileError, match="cannot be a file name"):
        place_for(name)


def test_a_profile_is_replaced_only_if_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    write_profile(file, "a", replace=False)
    with pytest.raises(ProfileError, match=r"p\.toml: it is there already; give --force"):
        write_profile(file, "b", replace=False)
    assert file.read_text() == "a"
    write_profile(file, "b", replace=True)
    assert file.read_text() == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


def test_a_place_that_takes_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there is no folder"):
        write_profile(tmp_path / "none" / "p.toml", "a", replace=False)
    (tmp_path / "p.toml").mkdir()
    with pytest.raises(ResourceError, match="could not be written"):
        write_profile(tmp_path / "p.toml", "a", replace=True)
