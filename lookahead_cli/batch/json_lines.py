"""JSON Lines: an object a line, with a prompt or a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, NoReturn

from lookahead_cli.batch.content import Content, Unusable, identified, usable_prompt, usable_text
from lookahead_cli.batch.overrides import OVERRIDES, check_overrides
from lookahead_cli.batch.template import MOST_COMPARED, Template
from lookahead_cli.layers import shortened, shown
from lookahead_cli.profile import nearest

KNOWN = ("prompt", "messages", "id", "system", *OVERRIDES)
"""Fields that mean something; others may stand beside them and are left alone."""
LIKELY_SLIP = 0.85
"""So similar must a field's name be to a known one to be taken for it: `promt` is, `max_tokens` is not."""
MOST_DIGITS = 4300
"""Of a whole number: Python's own limit, where there is one. Reading more takes time that grows with their square."""


def parse_object(text: str, template: Template | None) -> Content:
    """What a line says.

    Raises:
        Unusable: it is no JSON object, says no prompt, or something that is not allowed.
    """
    try:
        fields = _fields(text)
        identity = _id(fields.get("id"))
        with identified(identity):
            return _content(fields, identity, template)
    except RecursionError:
        raise Unusable("nested too deeply") from None


def _content(fields: Mapping[str, Any], identity: str | None, template: Template | None) -> Content:
    prompt, messages = fields.get("prompt"), fields.get("messages")
    system, overrides = _system(fields.get("system")), check_overrides(fields)
    if messages is None:
        return Content(_prompt(fields, template), None, identity, system, overrides)
    if template is not None:
        raise Unusable('a template makes one prompt of the fields, and there is "messages"; drop it or --template')
    if prompt is not None:
        raise Unusable('both "prompt" and "messages" are given; drop "prompt" if the conversation says it already')
    return Content(None, _messages(messages), identity, system, overrides)


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = JSON.decode(text)
    except json.JSONDecodeError as error:
        raise Unusable(f"not JSON: {error.msg} (column {error.colno})") from None
    if not isinstance(fields, dict):
        raise Unusable('not a JSON object; give {"prompt": "..."} on each line')
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise Unusable(f"not JSON: {name} is no number there")


def _whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise Unusable(f"a number has more than {MOST_DIGITS} digits")
    try:
        return int(digits)
    except ValueError:  # whoever started Python has set a lower limit
        raise Unusable("a number has too many digits") from None


JSON = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole_number)


def _prompt(fields: Mapping[str, Any], template: Template | None) -> str:
    if template is not None:
        return template.fill(fields)
    prompt = fields.get("prompt")
    if prompt is None:
        raise Unusable(
            f'no "prompt" and no "messages"{_slip(fields)}; give one of them, or make a prompt of other fields with '
            "--template"
        )
    if not isinstance(prompt, str):
        raise Unusable(f"prompt: {shown(prompt)} is not allowed: it must be text")
    return usable_prompt(prompt, '"prompt"')


def _slip(fields: Mapping[str, Any]) -> str:
    """A field that was meant to be another, if one looks like it."""
    slips = (
        f' (there is "{shortened(field)}"{hint})'
        for field in islice(fields, MOST_COMPARED)
        if field not in KNOWN and (hint := nearest(field.lower(), KNOWN, LIKELY_SLIP))
    )
    return next(slips, "")


def _id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise Unusable(f"id: {shown(value)} is not allowed: it must be text or a whole number, and not empty")
    return usable_text(str(value), '"id"')


def _system(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Unusable(f"system: {shown(value)} is not allowed: it must be text")
    return value if value is None else usable_text(value, '"system"')


def _messages(value: Any) -> tuple[Mapping[str, str], ...]:
    if not isinstance(value, list) or not value:
        raise Unusable(f"messages: {shown(value)} is not allowed: it must be a list of messages, and not empty")
    return tuple(_message(number, message) for number, message in enumerate(value, start=1))


def _message(number: int, value: Any) -> Mapping[str, str]:
    role, content = (value.get("role"), value.get("content")) if isinstance(value, dict) else (None, None)
    if not isinstance(role, str) or not role or not isinstance(content, str):
        raise Unusable(f'message {number} must be {{"role": "...", "content": "..."}}, both of them text')
    return {"role": usable_text(role, '"role"'), "content": usable_text(content, '"content"')}
