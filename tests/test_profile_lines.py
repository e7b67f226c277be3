"""Lines of keys, held against the TOML reader itself: with the text before a line a key is not there, with it it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.profile_lines import LONGEST_STATEMENT, key_lines
from lookahead_cli.toml_text import toml_comment, toml_value

ROOT = Path(__file__).parent.parent


def at(place: Any, path: tuple[str, ...]) -> bool:
    """Whether a path leads anywhere."""
    for key in path:
        if not isinstance(place, dict) or key not in place:
            return False
        place = place[key]
    return True


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[a]\nb = 1\n", {("a",): 1, ("a", "b"): 2}),
        ("# x\n\n  [ a ] # y\n\n\tb=1", {("a",): 3, ("a", "b"): 5}),
        ("a.b = 1\na.c = 2", {("a",): 1, ("a", "b"): 1, ("a", "c"): 2}),
        ("a = {b = 1, c.d = {}}", {("a",): 1, ("a", "b"): 1, ("a", "c"): 1, ("a", "c", "d"): 1}),
        ("[a]\r\n'b' = 1\r\n\"c=d\" = 2", {("a",): 1, ("a", "b"): 2, ("a", "c=d"): 3}),
        ('["a.b".c]\nd = 1', {("a.b",): 1, ("a.b", "c"): 1, ("a.b", "c", "d"): 2}),
        ('a = """\nb = 1\n[c]\n"""\nd = 2', {("a",): 1, ("d",): 5}),
        ("a = '''\n# '''\nd = 2", {("a",): 1, ("d",): 3}),
        ('a = """x""""\nb = 1', {("a",): 1, ("b",): 2}),
        ("a = [ # [\n 1,\n\n {b = 2}\n]\nc = 3", {("a",): 1, ("c",): 6}),
        ("[[a]]\nb = 1\n[a.c]\nd = 1\n[[a]]\n[e]\nf = 1", {("a",): 1, ("e",): 6, ("e", "f"): 7}),
        ("a.b = '''\n'''\n[c]\nd = 1", {("a",): 1, ("a", "b"): 1, ("c",): 3, ("c", "d"): 4}),
        ("", {}),
        ("# nothing", {}),
    ],
)
def test_lines_of_what_people_write(text: str, lines: dict[tuple[str, ...], int]) -> None:
    assert key_lines(text) == lines


def test_what_lies_behind_a_value_that_never_seems_to_end_is_left_out() -> None:
    text = "[a]\nb = '''" + "\n" * LONGEST_STATEMENT + "'''\nc = 1"
    assert tomli.loads(text)["a"]["c"] == 1
    assert key_lines(text) == {("a",): 1, ("a", "b"): 2}


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_every_key_of_the_profiles_that_ship_is_found_on_its_line(path: Path) -> None:
    text = path.read_text()
    lines, found = text.splitlines(), key_lines(text)
    tables = tomli.loads(text)
    assert set(found) == {(section,) for section in tables} | {
        (section, key) for section, table in tables.items() for key in table
    }
    for keys, line in found.items():
        assert lines[line - 1].startswith(f"[{keys[0]}]" if len(keys) == 1 else f"{keys[1]} = ")


names = st.sampled_from(["k", "model", "decoding", "a b", "x=y", "#", "[t]", "ö", '"', "'", "a.b", ""])
texts = st.text(st.sampled_from("ab=[]{}#\n\"'\\. \t"), max_size=12)
plain_values = st.one_of(
    st.integers(-9, 9), st.booleans(), texts, st.lists(st.one_of(texts, st.integers(0, 9)), max_size=3)
)


def spelled(draw: Any, key: str) -> str:
    """A key in one of the ways it can be written."""
    ways = [toml_value(key)]
    if key and key.isascii() and key.replace("_", "").isalnum():
        ways.append(key)
    if "'" not in key:
        ways.append(f"'{key}'")
    return str(draw(st.sampled_from(ways)))


def written_value(draw: Any, value: Any) -> str:
    """A value in one of the ways it can be written, over several lines if it can be."""
    if isinstance(value, str) and draw(st.booleans()):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"""{escaped}"""' if not value.startswith("\n") else f'"""\n{escaped}"""'
    if isinstance(value, list) and draw(st.booleans()):
        return "[ # ]\n" + "".join(f"  {toml_value(each)},\n# [ = \n" for each in value) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{spelled(draw, key)} = {written_value(draw, each)}" for key, each in value.items())
        return f"{{ {inner} }}"
    return toml_value(value)


@st.composite
def documents(draw: Any) -> str:
    """A TOML text with tables, dotted keys, inline tables and noise between them."""
    lines: list[str] = []
    tables = draw(st.lists(names, unique=True, max_size=3))
    for number, table in enumerate(tables):
        keys = draw(st.lists(names, unique=True, max_size=4))
        noise = draw(st.lists(st.sampled_from(["", "  ", "# k = 1", '# """', "#["]), max_size=2))
        style = draw(st.sampled_from(["heading", "dotted", "inline", "list"]))
        if style in ("dotted", "inline") and number and any(line.startswith("[") for line in lines):
            style = "heading"  # a heading holds for all that follows
        name = spelled(draw, table)
        if style == "inline":
            values = {key: draw(plain_values) for key in keys}
            lines.append(f"{name} = {written_value(draw, values)}")
            continue
        if style != "dotted":
            lines.append(f"  [ {name} ]  # x" if style == "heading" else f"[[{name}]]")
        for key in keys:
            lines += noise
            front = f"{name} . " if style == "dotted" else ""
            lines.append(f"{front}{spelled(draw, key)} = {written_value(draw, draw(plain_values))}")
    line_break: str = draw(st.sampled_from(["\n", "\r\n"]))
    return line_break.join("\n".join(lines).split("\n"))


@given(documents())
def test_a_line_is_right_or_left_out(text: str) -> None:
    try:
        tables = tomli.loads(text)
    except tomli.TOMLDecodeError:
        return  # not every mixture of headings and tables is allowed
    lines = text.replace("\r\n", "\n").split("\n")
    found = key_lines(text)
    for path, line in found.items():
        assert at(tables, path)
        assert not at(tomli.loads("\n".join(lines[: line - 1])), path), "it is not there before its line"
        end = next(end for end in range(line, len(lines) + 1) if parses("\n".join(lines[:end])))
        assert at(tomli.loads("\n".join(lines[:end])), path), "it is there with its statement"
    for table, content in tables.items():
        assert (table,) in found
        if isinstance(content, dict) and '"""' not in text and "[ # ]" not in text:
            assert all((table, key) in found for key in content), "on a single line nothing is left out"


def parses(text: str) -> bool:
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True


@given(st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False), st.lists(st.text(), max_size=3)))
def test_a_value_that_was_written_is_read_back(value: Any) -> None:
    surrogates = any("\ud800" <= character <= "\udfff" for text in [value] for character in str(text))
    if surrogates:
        return
    assert tomli.loads(f"key = {toml_value(value)}")["key"] == value


@given(st.text())
def test_a_comment_stays_one(text: str) -> None:
    assert tomli.loads(f"a = 1 # {toml_comment(text)}\nb = 2") == {"a": 1, "b": 2}
