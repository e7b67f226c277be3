"""What form the input has: an object a line, a line of text, a row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, get_args

from lookahead_cli.batch.source import Source
from lookahead_cli.batch.template import LINE, Template
from lookahead_cli.errors import ProfileError, PromptError
from lookahead_cli.layers import shown

Format = Literal["jsonl", "text", "csv"]

FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
    ".md": "text",
    ".csv": "csv",
    ".tsv": "csv",
}
"""Names that are taken from a folder, and what they are."""


@dataclass(frozen=True)
class Form:
    """The options that say how input is read.

    Raises:
        ProfileError: they make no sense together.
    """

    format: Literal["auto", "jsonl", "text", "csv"] = "auto"
    """auto: by the file's name; standard input by how it begins."""
    column: str | None = None
    """The column of a CSV file that holds the prompt."""
    template: Template | None = None
    one_per_file: bool = False

    def __post_init__(self) -> None:
        formats = ("auto", *get_args(Format))
        if self.format not in formats:
            raise ProfileError(
                f"option --format: {shown(self.format)} is not allowed: it must be {' or '.join(formats)}"
            )
        if self.one_per_file and self.format in ("jsonl", "csv"):
            raise ProfileError(
                f"option --one-per-file: it makes a file of text one prompt, and --format is {self.format}; "
                "leave one of them out"
            )
        if self.column is not None and (self.one_per_file or self.format in ("jsonl", "text")):
            raise ProfileError("option --column: only CSV has columns; leave it out, or give --format csv")
        if self.column is not None and self.template is not None:
            raise ProfileError("option --column: --template says already which columns are used; leave one of them out")
        if self.one_per_file or self.format == "text":
            self.check_template_for_text()

    def check_template_for_text(self) -> None:
        """Raise ProfileError if the template wants what text does not have."""
        other = next((field for field in self.template.fields if field != LINE), None) if self.template else None
        if other is not None:
            raise ProfileError(
                f"option --template: text has no field {shown(other)}, only {{{LINE}}}; "
                "if the input is JSON Lines or CSV, say so with --format"
            )

    def of(self, source: Source) -> Format | None:
        """Format of a source. None: how it begins tells, since it is no file and its name says nothing.

        Raises:
            PromptError: the options and the name contradict each other, or the name says too little.
        """
        if self.format != "auto":
            return self.format
        known = FORMATS.get(source.suffix)
        if self.one_per_file:
            if known not in (None, "text"):
                raise PromptError(
                    f"{source.name}: --one-per-file is for files of text, and this is {known} by its name; "
                    "leave the option out, or give --format text to take the file as it is"
                )
            return "text"
        if known is None and source.suffix == ".json":
            raise PromptError(
                f"{source.name}: give --format jsonl if its lines are objects, or --one-per-file to ask it as a whole"
            )
        return "text" if known is None and source.size is not None else known

    def takes(self, name: str) -> bool:
        """Whether a file of this name is taken from a folder."""
        known = FORMATS.get(PurePath(name).suffix.lower())
        wanted = "text" if self.one_per_file else self.format
        return known is not None and wanted in ("auto", known)
