"""Which profiles there are, and which one a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.profile import find_profile, shipped_profiles, user_profiles
from lookahead_cli.profile_listing import ListedProfile, listed_profiles
from lookahead_cli.profile_writing import new_profile, place_for, write_profile


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the user's profiles, and an empty working folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    user_profiles().mkdir(parents=True)
    return user_profiles()


def listed(environ: dict[str, str] | None = None) -> dict[Path, ListedProfile]:
    return {profile.file: profile for profile in listed_profiles(environ or {})}


def test_what_ships_is_listed_with_what_it_says_about_itself() -> None:
    code = listed()[shipped_profiles() / "code.toml"]
    assert (code.name, code.model, code.fault, code.shadowed_by, code.is_default) == (
        "code", "smollm2-135m", None, None, False,
    )  # fmt: skip
    assert code.about.startswith("Source code:")


def test_the_first_of_a_name_is_meant_and_the_others_say_so(user: Path) -> None:
    (user / "code.toml").write_text('[model]\nsource = "owner/mine"')
    Path("configs").mkdir()
    Path("configs/code.toml").write_text("")
    found = [profile for profile in listed_profiles({}) if profile.name == "code"]
    assert [profile.file for profile in found] == [
        Path("configs/code.toml"), user / "code.toml", shipped_profiles() / "code.toml",
    ]  # fmt: skip
    assert [profile.shadowed_by for profile in found] == [None, *[Path("configs/code.toml")] * 2]
    assert found[0].file == find_profile("code")
    assert [profile.model for profile in found] == ["smollm2-135m", "owner/mine", "smollm2-135m"]


def test_the_one_used_when_none_is_named_is_marked(user: Path) -> None:
    def default(environ: dict[str, str] | None = None) -> list[Path]:
        return [file for file, profile in listed(environ).items() if profile.is_default]

    assert default() == [shipped_profiles() / "default.toml"]
    Path("configs").mkdir()
    Path("configs/default.toml").write_text("")
    assert default() == [shipped_profiles() / "default.toml"], "the working folder's is used by name only"
    (user / "default.toml").write_text("")
    assert default() == [user / "default.toml"]
    assert default({"LOOKAHEAD_PROFILE": "code"}) == [shipped_profiles() / "code.toml"]
    assert default({"LOOKAHEAD_PROFILE": "nowhere"}) == []


def test_a_broken_file_is_listed_with_its_fault(user: Path) -> None:
    (user / "a.toml").write_text("[decoding]\n\nk = 0\n")
    (user / "b.toml").write_bytes(b"# \xff")
    (user / "c.toml").mkdir()
    found = listed()
    assert found[user / "a.toml"].fault == (
        'line 3: [decoding] k: 0 is not allowed: it must be "auto" or a whole number from 1 to 1024'
    )
    assert found[user / "b.toml"].fault == "not UTF-8 text"
    assert user / "c.toml" not in found


def test_a_folder_that_is_both_the_working_and_the_shipped_one_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shipped_profiles().parent)
    names = [profile.name for profile in listed_profiles({})]
    assert len(set(names)) == len(names)


def test_a_new_profile_says_nothing_about_itself_until_its_owner_does() -> None:
    file = place_for("mine")
    write_profile(file, new_profile({}), replace=False)
    assert listed()[file].about == ""
    file.write_text("# For letters.\n" + file.read_text())
    assert listed()[file].about == "For letters."
