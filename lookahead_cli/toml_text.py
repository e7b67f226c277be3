"""Values and comments as they stand in a TOML text."""

from __future__ import annotations

from typing import Any

from lookahead_cli.text.visible import visible

ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def toml_value(value: Any) -> str:
    """Text, a number, a truth value or a list of them, on one line. What a terminal would obey is escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def toml_comment(text: str) -> str:
    """Text that may stand behind a # on the same line."""
    return visible(text).replace("\n", "␊").replace("\t", " ")


def _escaped(character: str) -> str:
    if character in ESCAPED:
        return ESCAPED[character]
    return character if visible(character) == character else f"\\U{ord(character):08X}"
