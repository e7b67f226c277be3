"""Prompts as JSON Lines, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.errors import LookaheadError, PromptError
from tests.batch.reading_files import prompts, read_bytes, reasons

PROMPTS = st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_object(folder: Path, fields: Any) -> Record | BadRecord:
    (record,) = read_bytes(folder, json.dumps(fields).encode())
    return record


def test_an_object_a_line_with_everything_it_may_say(tmp_path: Path) -> None:
    record = read_object(
        tmp_path,
        {"id": 7, "prompt": "Hi", "system": "Be brief.", "temperature": 1, "top_p": 0.5, "top_k": 3, "min_p": 0,
         "repetition_penalty": 1, "seed": 2**63 - 1, "max_new_tokens": 5, "stop": "\n", "note": {"kept": "by people"}},
    )  # fmt: skip
    assert isinstance(record, Record)
    assert (record.number, record.id, record.prompt, record.system) == (0, "7", "Hi", "Be brief.")
    assert record.place == f"{(tmp_path / 'a.jsonl').as_posix()}, line 1"
    assert record.overrides == {
        "temperature": 1.0, "top_p": 0.5, "top_k": 3, "min_p": 0.0, "repetition_penalty": 1.0, "seed": 2**63 - 1,
        "max_new_tokens": 5, "stop": ["\n"],
    }  # fmt: skip


def test_a_conversation_in_place_of_a_prompt(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": ""}, {"role": "user", "content": "Hi", "name": "Ada"}]
    record = read_object(tmp_path, {"messages": messages})
    assert isinstance(record, Record)
    assert record.prompt is None
    assert record.messages == ({"role": "system", "content": ""}, {"role": "user", "content": "Hi"})


def test_null_is_the_same_as_nothing(tmp_path: Path) -> None:
    optional = ("messages", "id", "system", "temperature", "stop", "seed")
    record = read_object(tmp_path, {"prompt": "x", **dict.fromkeys(optional)})
    assert isinstance(record, Record)
    assert (record.id, record.system, record.overrides) == (f"{(tmp_path / 'a.jsonl').as_posix()}:1", None, {})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([], 'not a JSON object; give {"prompt": "..."} on each line'),
        ("x", "not a JSON object"),
        ({}, 'no "prompt" and no "messages"; give one of them'),
        ({"prompt": None}, 'no "prompt" and no "messages"'),
        ({"promt": "x"}, '(there is "promt"; did you mean "prompt"?)'),
        ({"text": "x", "temprature": 1}, '(there is "temprature"; did you mean "temperature"?)'),
        ({"prompt": 3}, "prompt: 3 is not allowed: it must be text"),
        ({"prompt": ["x"]}, 'prompt: ["x"] is not allowed'),
        ({"prompt": ""}, '"prompt" is empty'),
        ({"prompt": " \n"}, '"prompt" is empty'),
        ({"prompt": "\ud800"}, '"prompt" holds half characters'),
        ({"prompt": "x", "messages": [{"role": "user", "content": "x"}]}, 'both "prompt" and "messages"'),
        ({"messages": []}, "messages: [] is not allowed"),
        ({"messages": "x"}, 'messages: "x" is not allowed'),
        ({"messages": ["x"]}, "message 1 must be"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "user"}]}, "message 2 must be"),
        ({"messages": [{"role": "", "content": "x"}]}, "message 1 must be"),
        ({"messages": [{"role": "user", "content": "\udfff"}]}, '"content" holds half characters'),
        ({"prompt": "x", "id": ""}, 'id: "" is not allowed'),
        ({"prompt": "x", "id": 1.5}, "id: 1.5 is not allowed: it must be text or a whole number"),
        ({"prompt": "x", "id": True}, "id: true is not allowed"),
        ({"prompt": "x", "id": "\ud800"}, '"id" holds half characters'),
        ({"prompt": "x", "system": 1}, "system: 1 is not allowed: it must be text"),
        ({"prompt": "x", "temperature": "hot"},
         'temperature: "hot" is not allowed: it must be 0 or a number from 0.01 to 100'),
        ({"prompt": "x", "temperature": True}, "temperature: true is not allowed"),
        ({"prompt": "x", "temperature": 10**400}, "temperature: a number of many digits is not allowed"),
        ({"prompt": "x", "seed": "random"},
         'seed: "random" is not allowed: it must be a whole number from 0 to 2^63 - 1'),
        ({"prompt": "x", "seed": -1}, "seed: -1 is not allowed: it must be a whole number from 0 to 2^63 - 1"),
        ({"prompt": "x", "max_new_tokens": 0}, "max_new_tokens: 0 is not allowed: it must be a whole number from 1"),
        ({"prompt": "x", "max_new_tokens": 2.0}, "max_new_tokens: 2.0 is not allowed"),
        ({"prompt": "x", "stop": ["a", ""]}, 'stop: ["a", ""] is not allowed'),
        ({"prompt": "x", "stop": [1] * 2000}, "stop: it must be at most 1000 texts"),
        ({"prompt": "x", "stop": "\ud800"}, "stop holds half characters"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_told_in_one_sentence(fields: Any, said: str, tmp_path: Path) -> None:
    record = read_object(tmp_path, fields)
    assert isinstance(record, BadRecord)
    assert said in record.reason
    assert "\n" not in record.reason


def test_fields_of_other_programs_are_no_slips(tmp_path: Path) -> None:
    assert isinstance(read_object(tmp_path, {"prompt": "x", "max_tokens": 5, "temprature": 1}), Record)
    record = read_object(tmp_path, {"max_tokens": 5})
    assert isinstance(record, BadRecord)
    assert "did you mean" not in record.reason


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (b'{"prompt": "a\tb"}', "not JSON: Invalid control character at (column 14)"),
        (b'{"prompt": "x"} {"prompt": "y"}', "not JSON: Extra data (column 17)"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"prompt": "x", "stop": ' + b"[" * 400 + b"]" * 400 + b"}", ""),
        (b'{"prompt": "x", "note": ' + b"9" * 5000 + b"}", "a number has more than 4300 digits"),
        (b'{"prompt": "x", "temperature": NaN}', "not JSON: NaN is no number there"),
        (b'{"prompt": "x", "note": -Infinity}', "not JSON: -Infinity is no number there"),
        (b'{"prompt": "x", "temperature": 1e999}', "temperature: inf is not allowed"),
        (b'{"prompt": "caf\xe9"}', "not UTF-8 text (byte 16 of the line is 0xe9)"),
        (b'{"prompt": "\xed\xa0\x80"}', "not UTF-8 text"),
        (b'{"prompt": "a\0b"}', "the line holds a NUL byte"),
        (b'\xef\xbb\xbf{"prompt": "x"}', "not JSON"),
        (b'{"temperature": "\\ud800", "prompt": "x"}', 'temperature: "?" is not allowed'),
        (b'{"promt": "x", "promt\\ud800": "x"}', "did you mean"),
        (b'{"prompt": "' + b"x" * 2**24 + b'"}', "the line is longer than 16 MiB"),
    ],
)  # fmt: skip
def test_a_hostile_line_is_a_bad_record_and_the_others_go_on(line: bytes, said: str, tmp_path: Path) -> None:
    before, bad, after = read_bytes(tmp_path, b'{"prompt": "before"}\n' + line + b'\n{"prompt": "after"}\n')
    assert prompts([before, after]) == ["before", "after"]
    assert isinstance(bad, BadRecord)
    assert (bad.number, bad.line, bad.place) == (1, 2, f"{(tmp_path / 'a.jsonl').as_posix()}, line 2")
    assert said in bad.reason
    bad.reason.encode()


def test_a_line_of_ten_megabytes_is_a_prompt(tmp_path: Path) -> None:
    text = "long " * 2_000_000
    assert prompts(read_bytes(tmp_path, json.dumps({"prompt": text}).encode())) == [text]


@pytest.mark.parametrize(
    "content",
    [b'{"prompt": "a"}\n{"prompt": "b"}\n', b'{"prompt": "a"}\n{"prompt": "b"}',
     b'{"prompt": "a"}\r\n{"prompt": "b"}\r\n',
     b'\xef\xbb\xbf{"prompt": "a"}\n{"prompt": "b"}\n', b'\n \t\n{"prompt": "a"}\n\r\n{"prompt": "b"}\n\n'],
)  # fmt: skip
def test_line_ends_blank_lines_and_a_byte_order_mark_are_no_matter(content: bytes, tmp_path: Path) -> None:
    assert prompts(read_bytes(tmp_path, content)) == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n  \r\n"])
def test_an_empty_file_holds_no_records(content: bytes, tmp_path: Path) -> None:
    assert read_bytes(tmp_path, content) == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_utf_16_file_is_refused_as_a_whole(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"a\.jsonl is UTF-16 text: convert it to UTF-8"):
        read_bytes(tmp_path, '\ufeff{"prompt": "x"}\n{"prompt": "y"}'.encode(encoding))


@in_one_folder
@given(st.lists(PROMPTS), st.booleans())
def test_any_prompts_come_back_as_they_were_written(tmp_path: Path, texts: list[str], ascii_only: bool) -> None:
    written = "".join(json.dumps({"prompt": text}, ensure_ascii=ascii_only) + "\n" for text in texts)
    assert prompts(read_bytes(tmp_path, written.encode())) == texts


PIECES = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b'{"prompt": "x"}',
        b'{"prompt":',
        b'"\\ud800"',
        b"}",
        b"[",
        b"1e999",
    ]
)


@in_one_folder
@given(st.binary() | st.lists(PIECES | st.binary(max_size=3)).map(b"".join))
def test_any_bytes_give_one_record_for_every_line_that_is_not_blank(tmp_path: Path, content: bytes) -> None:
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    try:
        records = read_bytes(tmp_path, content)
    except LookaheadError:
        assert content.startswith((b"\xff\xfe", b"\xfe\xff"))
        return
    assert [record.number for record in records] == list(range(len(lines)))
    assert len({record.id for record in records}) == len(lines)


def test_a_template_makes_prompts_of_any_fields(tmp_path: Path) -> None:
    content = b'{"q": "why", "n": 3, "prompt": 5}\n{"q": null, "n": 1}\n{"n": 1}\n{"q": "x", "n": 1, "messages": []}\n'
    first, *bad = read_bytes(tmp_path, content, template="{n} times {q}")
    assert prompts([first]) == ["3 times why"]
    null, missing, conversation = reasons(bad)
    assert 'field "q" is null' in null
    assert 'no field "q"' in missing
    assert 'a template makes one prompt of the fields, and there is "messages"' in conversation
