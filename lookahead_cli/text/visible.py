"""Control characters made visible, so that no text can command the terminal that shows it."""

from __future__ import annotations

import unicodedata

KEPT = {"\n", "\t"}
DELETE = 0x7F
CONTROL_PICTURES = 0x2400
DELETE_PICTURE = "\u2421"
BIDI_AND_LINE_CONTROLS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029}
"""They reorder or break what stands beside them: text could be made to look like other text."""


def visible(text: str) -> str:
    """`text` with every control character but line break and tab shown as a sign: ESC becomes ␛, C1 and the
    like become ⟨U+009B⟩."""
    return "".join(map(_sign, text))


def _sign(character: str) -> str:
    code = ord(character)
    if character in KEPT or (
        code not in BIDI_AND_LINE_CONTROLS and unicodedata.category(character) not in {"Cc", "Cs"}
    ):
        return character
    if code < ord(" "):
        return chr(CONTROL_PICTURES + code)
    return DELETE_PICTURE if code == DELETE else f"⟨U+{code:04X}⟩"
