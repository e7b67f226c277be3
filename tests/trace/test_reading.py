"""A trace says again what was written, and a damaged one is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.errors import TraceError
from lookahead_cli.profile import Settings
from tests.made_steps import steps
from tests.trace.written import PREFILL, PROMPT, STEPS, label, read, written


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    return written(tmp_path / "trace", PREFILL, *STEPS)


def test_what_is_read_is_what_was_written(whole: bytes) -> None:
    trace = read(whole)
    assert list(trace.events) == [PREFILL, *STEPS]
    assert trace.settings == Settings()
    assert trace.begin.prompt == PROMPT
    assert trace.begin.prompt_token_ids == [7, 8, 9]
    assert trace.labels == {token: label(token) for token in (1, 2, 3, 4, 5, 9)}
    assert (trace.cut_short, trace.note) == (None, None)


@given(made=st.lists(steps(), max_size=3))
def test_any_steps_survive(made: list[StepEvent], tmp_path_factory: pytest.TempPathFactory) -> None:
    made = [step for step in made if step.finish_reason is None] + [step for step in made if step.finish_reason][:1]
    trace = read(written(tmp_path_factory.mktemp("any") / "trace", PREFILL, *made))
    assert trace.steps == made


def test_every_line_is_an_object_that_says_what_it_is(whole: bytes) -> None:
    lines = [json.loads(line) for line in whole.decode().split("\n")[:-1]]
    assert [line["event"] for line in lines] == ["begin", "prefill", "step", "step", "end"]
    assert lines[0]["prompt_tokens"] == 3
    assert lines[2]["draft"]["labels"] == [label(1), label(2), label(3)]
    assert lines[2]["labels"] == [label(1), label(3), label(4)]
    assert lines[4] == {"event": "end", "finish_reason": "length"}


def test_a_trace_cut_anywhere_is_good_up_to_there(whole: bytes) -> None:
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        trace = read(whole[:length])
        events = list(trace.events)
        assert events == [PREFILL, *STEPS][: len(events)]
        complete = whole[:length].count(b"\n")
        # A last line that lacks no more than its line break is a whole one.
        assert len(events) in (min(complete - 1, 3), min(complete, 3))
        assert trace.cut_short == (None if len(events) == 3 else "interrupted")
        if whole[length - 1 : length] != b"\n" and trace.torn is not None:
            assert trace.torn == complete + 1
            assert f"line {trace.torn}" in str(trace.note)
    assert "has no end" in str(read(whole[:first]).note)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0], lines[1], lines[2][:-20], lines[3]], "line 3 is damaged"),
        (lambda lines: [lines[0], lines[2]], "line 2 is damaged (a step comes before the prompt was read)"),
        (lambda lines: [*lines, lines[1]], "line 6 is damaged (it comes after the end)"),
        (lambda lines: [*lines[:2], *lines[:1]], "line 3 is damaged (another trace begins)"),
        (lambda lines: [*lines[:2], lines[1]], "line 3 is damaged (the prompt was read already)"),
        (lambda lines: [*lines[:2], "{}", lines[3]], "line 3 is damaged"),
        (lambda lines: [*lines[:2], '{"event":"step"}'], "line 3 is damaged (token_ids: Field required)"),
        (lambda lines: [lines[0].replace('"prompt_token_ids":[7,8,9]', '"prompt_token_ids":[]')], "line 1 is damaged"),
        (lambda lines: [lines[0].replace('"stats":true', '"stats":7')], "line 1 is damaged (stats"),
        (lambda lines: [lines[0].replace('"trace":1', '"trace":2'), "?"], "is a trace of version 2, written by"),
    ],
)
def test_what_is_damaged_is_told_with_its_line(
    whole: bytes, change: Callable[[list[str]], list[str]], said: str
) -> None:
    content = "".join(f"{line}\n" for line in change(whole.decode().split("\n")[:-1])).encode()
    with pytest.raises(TraceError) as told:
        read(content)
    assert said in str(told.value)
    assert str(told.value).startswith("trace x")


@pytest.mark.parametrize(
    "changes",
    [
        {"path": [1, 2]},
        {"path": [0, 7]},
        {"path": [-1, 2]},
        {"path": [0]},
        {"provenance": ["copies", "jacobi", "model"]},
        {"texts": ["a"]},
        {"token_ids": []},
        {"seconds": -1},
        {"seconds": 1e300},
        {"seconds": "1"},
        {"token_ids": [10**400]},
        {"finish_reason": "tired"},
        {"draft": {"tokens": [1], "parents": [0], "provenance": ["x"], "labels": ["y"]}},
        {"draft": {"tokens": [1], "parents": [], "provenance": ["x"], "labels": ["y"]}},
    ],
    ids=str,
)
def test_a_step_whose_parts_do_not_belong_together_is_refused(whole: bytes, changes: dict[str, Any]) -> None:
    lines = whole.split(b"\n")
    lines[2] = json.dumps({**json.loads(lines[2]), **changes}).encode()
    with pytest.raises(TraceError, match="line 3 is damaged"):
        read(b"\n".join(lines))


def test_numbers_that_nothing_can_be_worked_out_with_are_refused(whole: bytes) -> None:
    lines = whole.split(b"\n")
    lines[1] = json.dumps({**json.loads(lines[1]), "tokens": 10**400}).encode()
    with pytest.raises(TraceError, match="line 2 is damaged"):
        read(b"\n".join(lines))


def test_a_version_nobody_will_write_is_told_shortly(whole: bytes) -> None:
    first = {**json.loads(whole.split(b"\n")[0]), "trace": 10**4000, "lookahead": ["x"] * 10_000}
    with pytest.raises(TraceError, match="written by lookahead") as told:
        read(json.dumps(first).encode())
    assert len(str(told.value)) < 400


def test_keys_of_other_versions_are_passed_over(whole: bytes) -> None:
    lines = [json.loads(line) for line in whole.split(b"\n")[:-1]]
    for line in lines:
        line["mood"] = "good"
    lines[0]["settings"]["decoding"]["mood"] = "good"
    lines[0]["settings"]["moods"] = {}
    del lines[0]["settings"]["display"]["verbose"]
    trace = read("\n".join(map(json.dumps, lines)).encode())
    assert trace.steps == STEPS
    assert trace.settings == Settings()


@pytest.mark.parametrize(
    "content",
    [b"", b"hello\n", b"{}\n", b"[]\n", b"{\n", b'{"event": "step"}\n', b"\x00\xff", b'{"id": 1, "prompt": "x"}\n',
     b'{"event":"begin","trace":"x"}', b"{" * 100_000],
    ids=lambda content: repr(content[:20]),
)  # fmt: skip
def test_what_is_no_trace_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(TraceError, match=r"trace x is (no trace|empty): give a file that generate --trace has written"):
        read(content)
