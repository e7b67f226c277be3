"""What one line says is a promise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.batch.result_lines import LineForm, digest_of, known_from, line_of
from tests.batch.made_outcomes import made_failure, made_result

ANY_TEXT = st.text(st.characters())  # half surrogate pairs too


def test_the_keys_of_a_result() -> None:
    result = made_result(3, text="Grüße\n", steps=3, seconds=0.12345, seed=9)
    line = line_of(result, LineForm())
    assert line.decode() == (
        '{"id": "id-3", "text": "Grüße\\n", "finish_reason": "eos", "prompt_tokens": 5, "tokens": 4, "steps": 3, '
        '"tokens_per_step": 1.333, "seconds": 0.123, "seed": 9}\n'
    )
    with_tokens = json.loads(line_of(result, LineForm(with_tokens=True)))
    assert with_tokens == {
        **json.loads(line),
        "token_ids": [1, 2, 3, 4],
        "provenance": ["model", "copies", "copies", "model"],
    }
    assert "seed" not in json.loads(line_of(made_result(3), LineForm()))


def test_without_stats_the_machine_and_the_guesses_leave_no_trace() -> None:
    form = LineForm(with_tokens=True, stats=False)
    one = made_result(0, steps=4, seconds=9.0, provenance=("model",) * 4)
    other = made_result(0, steps=1, seconds=0.1)
    assert line_of(one, form) == line_of(other, form)
    assert list(json.loads(line_of(one, form))) == [
        "id",
        "text",
        "finish_reason",
        "prompt_tokens",
        "tokens",
        "token_ids",
    ]


def test_the_keys_of_a_failure() -> None:
    assert line_of(made_failure(2, place="a.jsonl, line 3", line=3), LineForm()) == (
        b'{"id": "id-2", "error": "too long", "place": "a.jsonl, line 3", "line": 3}\n'
    )
    assert "line" not in json.loads(line_of(made_failure(2, line=None), LineForm()))


def test_a_result_without_tokens_has_no_speed() -> None:
    keys = json.loads(line_of(made_result(0, token_ids=(), provenance=(), steps=0), LineForm()))
    assert (keys["tokens"], keys["tokens_per_step"]) == (0, None)


@given(ANY_TEXT, ANY_TEXT, st.booleans())
def test_whatever_the_text_it_is_one_line_of_utf8_that_comes_back(id: str, text: str, ascii_only: bool) -> None:
    line = line_of(made_result(0, id, text=text), LineForm(ascii_only=ascii_only))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.isascii() or not ascii_only
    keys = json.loads(line.decode())
    assert (keys["id"], keys["text"]) == (id, text)
    known = known_from(line)
    assert (known.digest, known.is_failure) == (digest_of(id), False)


def test_a_terminal_gets_no_control_character() -> None:
    line = line_of(made_result(0, text="\x1b[2J\x9b2J"), LineForm(ascii_only=True)).decode()
    assert line.rstrip("\n").isprintable()


def test_a_failure_is_known_as_one() -> None:
    assert known_from(line_of(made_failure(0), LineForm())).is_failure


@pytest.mark.parametrize("line", [b"", b"{}\n", b"5\n", b'{"id": 3, "text": ""}\n', b'{"id": "a"}\n', b"\xff\n"])
def test_other_lines_are_no_outcomes(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(not JSON|no id|neither a text nor an error)$"):
        known_from(line)
    with pytest.raises(ValueError, match="not JSON"):
        known_from(b"[" * 100_000)
