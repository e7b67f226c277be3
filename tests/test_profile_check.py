"""Everything that is wrong in a profile is told, with its line."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import resolve
from lookahead_cli.profile import SECTIONS, shipped_profiles
from lookahead_cli.profile_check import clash, faults_of, profile_faults
from lookahead_cli.profile_file import FaultyProfile
from lookahead_cli.toml_text import toml_value


def faults(tmp_path: Path, text: str) -> list[tuple[int | None, str]]:
    path = tmp_path / "p.toml"
    path.write_text(text)
    return [(fault.line, fault.what) for fault in profile_faults(path)]


def test_all_that_is_wrong_is_told_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = """
[decoding]
k = 0
temprature = 1  # the name
stop = [
  "",
]
strategy = "jakobi"
[modle]
source = "x"
[display]
color = "pink"
stats = true
"""
    found = faults(tmp_path, text)
    assert [line for line, _ in found] == [3, 4, 5, 8, 9, 12]
    for (_, what), part in zip(
        found,
        ["[decoding] k: 0 is not", "temprature is not a known key", "stop: [", "jacobi", "[modle]", '"pink"'],
        strict=True,
    ):
        assert part in what
        assert "\n" not in what


def test_the_first_fault_is_what_a_run_would_say(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("[decoding]\n\nk = 0\n")
    with pytest.raises(ProfileError, match=re.escape(f"profile {profile_faults(path)[0]}")):
        resolve(str(path), environ={})


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[decoding\n", 1, "not valid TOML"),
        ("\n\nk = 1\nk = 2", 4, "not valid TOML"),
        ('[prompt]\ntemplate = "raw"\nsystem = "x"', 3, "leave one of them out"),
    ],
)
def test_faults_of_the_whole(tmp_path: Path, text: str, line: int, what: str) -> None:
    ((found, said),) = faults(tmp_path, text)
    assert found == line
    assert what in said


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    _, (fault,) = faults_of(str(tmp_path / "none.toml"))
    assert str(fault) == f"{tmp_path / 'none.toml'}: no such file"


KEYS = [(section, key) for section, keys in SECTIONS.items() for key in keys.model_fields]
keys = st.sampled_from([*KEYS, ("decoding", "kk"), ("modle", "source"), ("model", "k")])
values = st.one_of(
    st.integers(-2, 2000), st.floats(allow_nan=False), st.booleans(), st.sampled_from(["auto", "lookahead", "raw", ""]),
    st.lists(st.sampled_from(["copies", "pickle"]), max_size=2),
)  # fmt: skip


@given(st.dictionaries(keys, values, max_size=5))
def test_there_is_a_fault_exactly_where_a_run_would_complain(said: dict[tuple[str, str], object]) -> None:
    lines = [f"{section}.{key} = {toml_value(value)}" for (section, key), value in said.items()]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.toml"
        path.write_text("\n".join(lines))
        found = profile_faults(path)
        first = None
        try:
            wrong = clash(resolve(str(path), environ={}).settings)
        except FaultyProfile as error:
            first = error.fault
        assert first in found if first is not None else bool(found) == (wrong is not None)
    for fault in found:
        assert fault.line is not None
        section, _, key = lines[fault.line - 1].partition(" = ")[0].partition(".")
        assert f"[{section}]" in fault.what
        assert key in fault.what or section == "modle"


@pytest.mark.parametrize("path", sorted(shipped_profiles().glob("*.toml")), ids=lambda path: path.stem)
def test_what_ships_is_fine(path: Path) -> None:
    assert profile_faults(path) == []
