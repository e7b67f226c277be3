"""Templates: what they may be, and what they make of a record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.batch.content import Unusable
from lookahead_cli.batch.template import parse_template
from lookahead_cli.errors import ProfileError


def test_fields_are_filled_in_and_doubled_braces_are_braces() -> None:
    template = parse_template('{{"q": "{question}"}} {question} by {first name}')
    assert template.fields == ("question", "first name")
    assert template.fill({"question": "why {x}?", "first name": "Ada"}) == '{"q": "why {x}?"} why {x}? by Ada'


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (3, "3"), (-1.5, "-1.5"), (True, "true"), (False, "false"), (10**20, "1" + "0" * 20)],
)
def test_text_stays_and_numbers_are_written_as_in_json(value: Any, text: str) -> None:
    assert parse_template("{a}").fill({"a": value}) == text


@pytest.mark.parametrize(
    ("value", "kind"), [(None, "null"), ([1], "a list"), ({"b": 1}, "an object"), (float("inf"), "no finite number")]
)
def test_a_value_that_is_no_text_or_number_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(Unusable, match=f'field "a" is {kind}, and the template takes text or a number'):
        parse_template("{a}").fill({"a": value})


def test_a_missing_field_is_named_and_a_similar_one_too() -> None:
    with pytest.raises(Unusable, match='no field "question" for the template; did you mean "questoin"'):
        parse_template("{question}").fill({"questoin": "x"})


def test_a_prompt_of_nothing_but_white_space_is_refused() -> None:
    with pytest.raises(Unusable, match="the prompt is empty"):
        parse_template(" {a} ").fill({"a": "\n"})


@pytest.mark.parametrize(
    "text",
    ["", "no field", "{{text}}", "{}", "{ }", "{a.b}", "{a[0]}", "{a!r}", "{a:>10}", "{a:{b}}", "{", "}", "{a", "a}",
     "{a.__class__}", "{text\ud800}", '{"q": {text}}'],
)  # fmt: skip
def test_anything_but_fields_by_name_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ProfileError, match=r"^option --template: ") as caught:
        parse_template(text)
    assert "\n" not in str(caught.value)


@given(st.text())
def test_a_template_is_refused_or_can_be_filled(text: str) -> None:
    try:
        template = parse_template(text)
    except ProfileError:
        return
    assert "x" in template.fill(dict.fromkeys(template.fields, "x"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_itself_once_its_braces_are_doubled(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert parse_template(doubled + "{a}").fill({"a": "x"}) == text + "x"


def test_a_template_for_json_can_be_written() -> None:
    assert json.loads(parse_template('{{"q": {n}}}').fill({"n": 3})) == {"q": 3}
