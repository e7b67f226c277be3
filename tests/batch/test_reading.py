"""Records out of sources: numbers, ids, places, progress; and what does not end a run."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.batch.form import Form
from lookahead_cli.batch.reading import read_records
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.shard import in_shard, parse_shard
from lookahead_cli.batch.source import Source
from lookahead_cli.batch.sources import find_sources
from lookahead_cli.batch.taken_ids import TakenIds
from lookahead_cli.errors import ProfileError, PromptError, ResourceError
from tests.batch.reading_files import made_form, prompts, read_bytes, read_files, reasons


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ids(records: list[Record | BadRecord]) -> list[str]:
    return [record.id for record in records]


def read_stdin(content: bytes, monkeypatch: pytest.MonkeyPatch, form: Form | None = None) -> list[Record | BadRecord]:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return read_files("-", form=form)


def test_a_line_of_text_is_a_prompt_as_it_stands() -> None:
    records = read_bytes(Path(), b"\xef\xbb\xbfone\r\n\n  two \n \t\n\xe3\x80\x80\nth\rree\\n {x}", "a.txt")
    assert prompts(records) == ["one", "  two ", "th\rree\\n {x}"]
    assert ids(records) == ["a.txt:1", "a.txt:3", "a.txt:6"]
    assert [record.place for record in records] == ["a.txt, line 1", "a.txt, line 3", "a.txt, line 6"]


def test_lines_that_are_no_text_are_bad_and_the_others_go_on() -> None:
    content = b"one\nca\xff\na\0b\n" + b"x" * (2**24 + 1) + b"\ntwo\n"
    first, *bad, last = read_bytes(Path(), content, "a.txt")
    assert prompts([first, last]) == ["one", "two"]
    assert reasons(bad) == [
        "not UTF-8 text (byte 3 of the line is 0xff)", "the line holds a NUL byte: this is no text",
        "the line is longer than 16 MiB",
    ]  # fmt: skip
    assert ids(bad) == ["a.txt:2", "a.txt:3", "a.txt:4"]


def test_a_line_of_exactly_the_most_is_a_prompt() -> None:
    assert [len(text or "") for text in prompts(read_bytes(Path(), b"x" * 2**24 + b"\ny\n", "a.txt"))] == [2**24, 1]


def test_a_template_is_put_around_every_line() -> None:
    assert prompts(read_bytes(Path(), b"one\ntwo\n", "a.txt", template="Say {text}!")) == ["Say one!", "Say two!"]


def test_one_per_file_makes_every_file_a_prompt(tmp_path: Path) -> None:
    for name, content in (
        ("a.txt", b"one\ntwo\n\n"),
        ("b.md", b"\n"),
        ("c.txt", b"\xff"),
        ("d.txt", b"x" * (2**24 + 1)),
    ):
        (tmp_path / name).write_bytes(content)
    first, *bad = read_files(".", form=made_form(one_per_file=True, template="Sum up: {text}"))
    assert (prompts([first]), first.id, first.place) == (["Sum up: one\ntwo\n"], "a.txt", "a.txt")
    assert ids(bad) == ["b.md", "c.txt", "d.txt"]
    empty, no_text, too_long = reasons(bad)
    assert empty == "the prompt is empty"
    assert no_text.startswith("the file is not UTF-8 text")
    assert too_long == "the file is longer than 16 MiB"


def test_standard_input_is_json_lines_if_it_begins_with_a_brace_else_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompts(read_stdin(b'\n  {"prompt": "x"}\n', monkeypatch)) == ["x"]
    assert prompts(read_stdin(b"\n\nx\n{y}\n", monkeypatch)) == ["x", "{y}"]
    assert prompts(read_stdin(b'{"prompt": "x"}', monkeypatch, Form(format="text"))) == ['{"prompt": "x"}']
    assert ids(read_stdin(b"\nx\n", monkeypatch)) == ["stdin:2"]
    assert read_stdin(b"", monkeypatch) == []


def test_a_first_line_too_long_does_not_hide_what_the_rest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = read_stdin(b'{"prompt": "' + b"x" * 2**24 + b'"}\n{"prompt": "x"}\n', monkeypatch)
    assert (reasons([bad]), prompts([good])) == (["the line is longer than 16 MiB"], ["x"])


def test_a_utf_16_pipe_and_a_closed_standard_input_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PromptError, match="stdin is UTF-16 text"):
        read_stdin("\ufeffx".encode("utf-16-le"), monkeypatch)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ResourceError, match="standard input is closed"):
        read_files("-")


def test_a_named_pipe_is_read_as_it_is_written(tmp_path: Path) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b'{"prompt": "x"}\n'))
    writer.start()
    records = read_files("pipe")
    writer.join()
    assert (prompts(records), ids(records), records[0].fraction) == (["x"], ["pipe:1"], None)


def test_numbers_go_on_over_all_sources_and_count_bad_records_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "x"}\n\n{\n')
    (tmp_path / "b.txt").write_text("y\n")
    assert [(record.number, record.id) for record in read_files("b.txt", "a.jsonl", "b.txt")] == [
        (0, "b.txt:1"), (1, "a.jsonl:1"), (2, "a.jsonl:3"),
    ]  # fmt: skip


@pytest.mark.parametrize("given_id", ["../../x", "x" * 300, " ", "a/b\n", "日本", "\u202e"])
def test_an_id_is_kept_as_it_is(given_id: str) -> None:
    assert ids(read_bytes(Path(), json.dumps({"prompt": "x", "id": given_id}).encode())) == [given_id]


def test_an_id_that_is_taken_makes_a_bad_record_with_an_id_of_its_own() -> None:
    lines = [{"id": "a"}, {"id": "a"}, {"id": "a.jsonl:4"}, {}, {"id": "a.jsonl:2"}, {"id": "a.jsonl:5"}]
    content = "".join(json.dumps({"prompt": "x", **line}) + "\n" for line in lines).encode()
    first, second, third, fourth, fifth, sixth = read_bytes(Path(), content)
    assert ids([first, third]) == ["a", "a.jsonl:4"]
    assert reasons([second, fourth, fifth, sixth]) == [
        'duplicate id "a"', 'duplicate id "a.jsonl:4"', 'duplicate id "a.jsonl:2"', 'duplicate id "a.jsonl:5"',
    ]  # fmt: skip
    assert ids([second, fourth, fifth, sixth]) == ["a.jsonl:2", "a.jsonl:4#2", "a.jsonl:5", "a.jsonl:6"]


def test_an_id_is_the_same_as_a_number_or_as_text() -> None:
    first, second = read_bytes(Path(), b'{"prompt": "x", "id": 1}\n{"prompt": "y", "id": "1"}\n')
    assert (first.id, reasons([second])) == ("1", ['duplicate id "1"'])


def test_a_duplicate_id_of_300_characters_is_told_shortened() -> None:
    line = json.dumps({"prompt": "x", "id": "x" * 300}).encode() + b"\n"
    assert reasons(read_bytes(Path(), 2 * line)[1:]) == [f'duplicate id "{"x" * 100}…"']


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=2)))
def test_ids_are_taken_once_and_free_ones_found(names: list[str]) -> None:
    taken, expected = TakenIds(), set()
    for name in names:
        assert taken.take(name) == (name not in expected)
        expected.add(name)
    free = [taken.take_free(name) for name in names]
    assert len({*free, *expected}) == len(free) + len(expected)


def test_no_id_is_forgotten_while_the_table_grows() -> None:
    taken = TakenIds()
    assert all(taken.take(str(number)) for number in range(5000))
    assert not any(taken.take(str(number)) for number in range(5000))


def test_the_fraction_is_of_bytes_over_all_files_and_unknown_for_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.txt").write_text("x\ny\n")
    Path("b.csv").write_text("prompt\nxxxx\n")
    assert [record.fraction for record in read_files("a.txt", "b.csv")] == [2 / 16, 4 / 16, 1.0]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    assert {record.fraction for record in read_files("a.txt", "-")} == {None}


class Failing(io.BytesIO):
    """A file whose disk breaks after the first line."""

    def readline(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().readline(size)


def test_a_disk_that_fails_in_the_middle_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.txt").write_text("x\ny\n")
    records = read_records(find_sources(["a.txt"], Form()), Form())
    monkeypatch.setattr(Source, "open", lambda _: nullcontext(Failing(b"x\ny\n")))
    assert next(records).number == 0
    with pytest.raises(ResourceError, match=r"a\.txt cannot be read: Input/output error") as caught:
        next(records)
    assert caught.value.exit_code == 1


def test_a_later_file_that_is_not_what_it_should_be_is_told_before_the_first_record() -> None:
    Path("a.txt").write_text("x\n")
    Path("b.csv").write_text("a,b\n1,2\n")
    sources = find_sources(["a.txt", "b.csv"], Form())
    with pytest.raises(PromptError, match=r"b\.csv: no column is called prompt"):
        read_records(sources, Form())
    Path("b.csv").unlink()
    with pytest.raises(ResourceError, match=r"b\.csv cannot be read: No such file"):
        read_records(sources, Form())


@pytest.mark.parametrize("text", ["", "2", "0/5", "6/5", "1/0", "-1/5", "1/5/2", "a/b", "1.0/2", " 1/2", "1/2\n", "²/5",
                                  "9" * 5000 + "/" + "9" * 5000])  # fmt: skip
def test_nonsense_is_no_shard(text: str) -> None:
    with pytest.raises(ProfileError, match=r"(?s)option --shard: .* is not allowed: it must be I/N"):
        parse_shard(text)


@given(st.integers(1, 9))
def test_shards_deal_out_every_record_once(parts: int) -> None:
    records = [BadRecord(number, "", "", 1, "") for number in range(20)]
    shards = [parse_shard(f"{part}/{parts}") for part in range(1, parts + 1)]
    dealt = [record.number for shard in shards for record in records if in_shard(record, shard)]
    assert sorted(dealt) == list(range(20))
    assert in_shard(records[0], shards[0])


LINES = 100_000


def broken_now_and_then() -> Iterator[bytes]:
    for number in range(LINES):
        yield b'{"prompt"\n' if number % 100 == 7 else b'{"id": "%d", "prompt": "%s"}\n' % (number, b"word " * 40)


@pytest.mark.slow
def test_a_large_file_is_streamed_in_little_memory() -> None:
    with Path("a.jsonl").open("wb") as file:
        file.writelines(broken_now_and_then())
    records = read_records(find_sources(["a.jsonl"], Form()), Form())
    counts: dict[type[Any], int] = {Record: 0, BadRecord: 0}
    try:
        for number, record in enumerate(records):
            if number == LINES * 4 // 5:  # tracing is slow; what grows with every record grows in the last fifth too
                tracemalloc.start()
            assert record.number == number
            counts[type(record)] += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counts == {Record: LINES * 99 // 100, BadRecord: LINES // 100}
    assert peak < 6e6 < Path("a.jsonl").stat().st_size / 2  # most of it is the table of ids, doubled on the way
