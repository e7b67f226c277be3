"""Reading what a test has written."""

from __future__ import annotations

from pathlib import Path

from lookahead_cli.batch.form import Form
from lookahead_cli.batch.reading import read_records
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.sources import find_sources
from lookahead_cli.batch.template import parse_template


def read_files(*files: Path | str, form: Form | None = None) -> list[Record | BadRecord]:
    """Everything that the files hold."""
    form = form or Form()
    return list(read_records(find_sources([str(file) for file in files], form), form))


def read_bytes(folder: Path, content: bytes, name: str = "a.jsonl", **options: object) -> list[Record | BadRecord]:
    """Everything that a file with this content holds."""
    (folder / name).write_bytes(content)
    return read_files(folder / name, form=made_form(**options))


def made_form(**options: object) -> Form:
    """A form; its template as it is typed."""
    template = options.pop("template", None)
    return Form(template=None if template is None else parse_template(str(template)), **options)  # type: ignore[arg-type]


def prompts(records: list[Record | BadRecord]) -> list[str | None]:
    """The prompts, every record being a good one."""
    assert all(isinstance(record, Record) for record in records), records
    return [record.prompt for record in records if isinstance(record, Record)]


def reasons(records: list[Record | BadRecord]) -> list[str]:
    """The reasons, every record being a bad one."""
    assert all(isinstance(record, BadRecord) for record in records), records
    return [record.reason for record in records if isinstance(record, BadRecord)]
