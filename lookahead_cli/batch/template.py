"""`--template "Summarise: {text}"`: one prompt's text around the fields of every record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from string import Formatter
from typing import Any

from lookahead_cli.batch.content import Unusable, usable_prompt
from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import shortened
from lookahead_cli.profile import nearest
from lookahead_cli.text.prompt import is_unicode

LINE = "text"
"""The one field that text has: the line, or the whole file."""
MOST_COMPARED = 100
"""Fields of a record among which a misspelt one is looked for; a hostile record may have a million."""


@dataclass(frozen=True)
class Template:
    """Text with places for fields."""

    parts: tuple[tuple[str, str | None], ...]
    """Text and the field that follows it, if any."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, each once."""
        return tuple(dict.fromkeys(field for _, field in self.parts if field is not None))

    @property
    def text(self) -> str:
        """The template as it could have been typed."""
        return "".join(
            text.replace("{", "{{").replace("}", "}}") + ("" if field is None else f"{{{field}}}")
            for text, field in self.parts
        )

    def fill(self, values: Mapping[str, Any]) -> str:
        """The prompt.

        Raises:
            Unusable: a field is missing or no single value, or nothing comes of it.
        """
        filled = (text + ("" if field is None else _written(field, values)) for text, field in self.parts)
        return usable_prompt("".join(filled))


def parse_template(text: str) -> Template:
    """The template that was typed.

    Raises:
        ProfileError: it is no template, names no field, or wants more of a field than its value.
    """
    if not is_unicode(text):
        raise ProfileError("option --template: this is not UTF-8 text; give it as UTF-8")
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise ProfileError(f"option --template: {error}; a brace that is to stay is written twice, {{{{") from None
    for _, field, layout, conversion in pieces:
        if field is not None:
            _check_field(field, layout, conversion)
    template = Template(tuple((literal, field) for literal, field, _, _ in pieces))
    if not template.fields:
        raise ProfileError("option --template: it names no field; put one where the record's text belongs, {text}")
    return template


def _check_field(field: str, layout: str | None, conversion: str | None) -> None:
    """Raise ProfileError unless it is a name and nothing else: a template is no program."""
    if not field.strip():
        raise ProfileError("option --template: {} needs the name of a field in it, such as {text}")
    if layout or conversion or set(".[]") & set(field):
        raise ProfileError(
            f"option --template: {{{shortened(field)}}} can only be the name of a field, with none of . [ ] ! : in it; "
            "a brace that is to stay is written twice, {{"
        )


def _written(field: str, values: Mapping[str, Any]) -> str:
    """A field's value: text as it is, numbers and truth values as JSON writes them."""
    if field not in values:
        raise Unusable(
            f'there is no field "{shortened(field)}" for the template{nearest(field, islice(values, MOST_COMPARED))}'
        )
    value = values[field]
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    raise Unusable(f'field "{shortened(field)}" is {_kind(value)}, and the template takes text or a number')


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", float: "no finite number"}
    return kinds.get(type(value), "null")
