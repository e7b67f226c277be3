"""Options that say how input is read, and which of them contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.batch.form import Form
from lookahead_cli.batch.source import Source
from lookahead_cli.errors import LookaheadError, ProfileError, PromptError
from tests.batch.reading_files import made_form, read_files


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "yaml"}, 'option --format: "yaml" is not allowed: it must be auto or jsonl or text or csv'),
        ({"one_per_file": True, "format": "jsonl"}, "option --one-per-file: .*--format is jsonl"),
        ({"one_per_file": True, "format": "csv"}, "option --one-per-file: .*--format is csv"),
        ({"column": "a", "format": "text"}, "option --column: only CSV has columns"),
        ({"column": "a", "format": "jsonl"}, "option --column: only CSV has columns"),
        ({"column": "a", "one_per_file": True}, "option --column: only CSV has columns"),
        ({"column": "a", "template": "{b}"}, "option --column: --template says already"),
        ({"format": "text", "template": "{title}"}, 'option --template: text has no field "title", only {text}'),
        ({"one_per_file": True, "template": "{title}"}, "option --template: text has no field"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ProfileError, match=said):
        made_form(**options)


@pytest.mark.parametrize(
    ("name", "format_"),
    [("a.jsonl", "jsonl"), ("a.NDJSON", "jsonl"), ("a.csv", "csv"), ("a.tsv", "csv"), ("a.txt", "text"),
     ("a.md", "text"), ("a.py", "text"), ("README", "text")],
)  # fmt: skip
def test_a_file_goes_by_its_name(name: str, format_: str) -> None:
    assert Form().of(Source(name, Path(name), 0)) == format_
    assert Form(format="csv").of(Source(name, Path(name), 0)) == "csv"


def test_what_is_no_file_goes_by_its_name_if_that_says_anything() -> None:
    assert Form().of(Source("stdin", None)) is None
    assert Form().of(Source("pipe", Path("pipe"))) is None
    assert Form().of(Source("pipe.csv", Path("pipe.csv"))) == "csv"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.json", {}, "a.json: give --format jsonl if its lines are objects, or --one-per-file"),
        ("a.csv", {"one_per_file": True}, "a.csv: --one-per-file is for files of text, and this is csv by its name"),
        ("a.txt", {"column": "a"}, "option --column: only CSV has columns, and no input is CSV"),
        ("a.txt", {"template": "{title}"}, "option --template: text has no field"),
    ],
)
def test_a_name_that_contradicts_the_options_is_refused_before_anything_is_read(
    name: str, options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("{}\n")
    with pytest.raises(LookaheadError, match=said) as caught:
        read_files(tmp_path / name, form=made_form(**options))
    assert isinstance(caught.value, ProfileError | PromptError)
