"""Prompts as rows of a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.errors import PromptError
from tests.batch.reading_files import prompts, read_bytes, reasons

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def ids(records: list[Record | BadRecord]) -> list[str]:
    return [record.id.rpartition("/")[2] for record in records]


def test_the_prompt_column_is_the_one_named_or_the_one_called_prompt_or_the_only_one(tmp_path: Path) -> None:
    table = b"question,prompt\nwhy,x\n"
    assert prompts(read_bytes(tmp_path, table, "a.csv")) == ["x"]
    assert prompts(read_bytes(tmp_path, table, "a.csv", column="question")) == ["why"]
    assert prompts(read_bytes(tmp_path, b"question\nwhy\n", "a.csv")) == ["why"]
    assert prompts(read_bytes(tmp_path, b"question,prompt\nwhy,x\n", "a.txt", format="csv")) == ["x"]


def test_cells_of_a_tsv_file_are_separated_by_tabs(tmp_path: Path) -> None:
    assert prompts(read_bytes(tmp_path, b'id\tprompt\n1\ta, "b"\n', "a.tsv")) == ['a, "b"']


def test_the_id_column_is_the_id_and_an_empty_cell_none(tmp_path: Path) -> None:
    assert ids(read_bytes(tmp_path, b"prompt,id\nx,7\ny,\n", "a.csv")) == ["7", "a.csv:3"]
    assert ids(read_bytes(tmp_path, b"id\nx\nx\n", "a.csv")) == ["a.csv:2", "a.csv:3"]


def test_a_template_is_filled_from_the_columns(tmp_path: Path) -> None:
    assert prompts(read_bytes(tmp_path, b"a,b\n1,x y\n", "a.csv", template="{b}: {a}")) == ["x y: 1"]


def test_a_cell_may_hold_line_breaks_and_its_row_is_where_it_begins(tmp_path: Path) -> None:
    records = read_bytes(tmp_path, b'prompt,n\r\n"one\r\ntwo\n\nfive ""5""",1\r\n\r\nnext,2', "a.csv")
    assert prompts(records) == ['one\r\ntwo\n\nfive "5"', "next"]
    assert ids(records) == ["a.csv:2", "a.csv:7"]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert prompts(read_bytes(tmp_path, b"\xef\xbb\xbfprompt,n\nx,1\n", "a.csv")) == ["x"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"prompt,n\n", b"prompt,n"])
def test_a_table_without_rows_holds_no_records(content: bytes, tmp_path: Path) -> None:
    assert read_bytes(tmp_path, content, "a.csv") == []


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"a,b\n1,2\n", {}, "a.csv: no column is called prompt; say which one holds the prompts with --column"),
        (b"a,b\n1,2\n", {}, "there are a, b"),
        (b"question,b\n", {"column": "qestion"}, '--column: there is no column "qestion"; did you mean "question"?'),
        (b"a,b\n", {"template": "{a} {c}"}, 'option --template: there is no column "c"; there are a, b'),
        (b"prompt,n,prompt\n", {}, 'two columns are called "prompt"'),
        (b"prompt,id,id\n", {}, 'two columns are called "id"'),
        (b"question;id\nx;1\n", {}, "seem to be separated by semicolons"),
        (b"question\tid\nx\t1\n", {}, "seem to be separated by tabs"),
        (b"prompt,\xff\nx,1\n", {}, "a.csv, line 1: the names of the columns cannot be read: not UTF-8 text"),
        (b'"prompt,a\nx,1\n', {}, "a.csv, line 1: the names of the columns cannot be read: not CSV"),
        (b"\xff\xfep\0\n\0", {}, "a.csv is UTF-16 text"),
    ],
)  # fmt: skip
def test_a_table_without_the_columns_that_are_needed_is_refused(
    content: bytes, options: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(PromptError) as caught:
        read_bytes(tmp_path, content, "a.csv", **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"alone", "the number of cells is 1, that of columns 2"),
        (b"a,b,c", "the number of cells is 3, that of columns 2"),
        (b",1", '"prompt" is empty'),
        (b"caf\xe9,1", "not UTF-8 text (byte 4 of the line is 0xe9)"),
        (b'"a\nb\xff\nc",1', "not UTF-8 text (byte 2 of the line is 0xff)"),
        (b'5" \xff,1', "not UTF-8 text"),
        (b"a\0,1", "the line holds a NUL byte"),
        (b'"a"b,1', "not CSV"),
        (b"a\rb,1", "not CSV: new-line character seen in unquoted field"),
        (b"a" * 2**24 + b",1", "the line is longer than 16 MiB"),
        (b'"\n' + b"a" * 2**24 + b'\n",1', "the row is longer than 16 MiB"),
        (b'"' + b"a " * 2**24 + b'\n\n",1', "the line is longer than 16 MiB"),
    ],
)
def test_a_broken_row_is_a_bad_record_and_breaks_no_other(row: bytes, said: str, tmp_path: Path) -> None:
    before, bad, after = read_bytes(tmp_path, b"prompt,n\nbefore,1\n" + row + b"\nafter,2\n", "a.csv")
    assert prompts([before, after]) == ["before", "after"]
    assert isinstance(bad, BadRecord)
    assert (bad.number, bad.line) == (1, 3)
    assert said in bad.reason


def test_a_quotation_mark_that_is_never_closed_takes_the_rest_and_says_so(tmp_path: Path) -> None:
    before, bad = read_bytes(tmp_path, b'prompt,n\nbefore,1\n"open,2\n' + b"x,3\n" * 100, "a.csv")
    assert prompts([before]) == ["before"]
    assert reasons([bad]) == ["not CSV: unexpected end of data"]


def test_a_huge_cell_is_a_prompt(tmp_path: Path) -> None:
    text = ("long " * 100 + "\n") * 20_000
    assert prompts(read_bytes(tmp_path, f'prompt\n"{text}"\n'.encode(), "a.csv")) == [text]


@in_one_folder
@given(st.lists(st.tuples(CELLS.filter(str.strip), CELLS)))
def test_any_prompts_come_back_as_they_were_written(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("prompt", "note"), *rows])
    read = prompts(read_bytes(tmp_path, written.getvalue().encode(), "a.csv"))
    assert read == [prompt for prompt, _ in rows]
