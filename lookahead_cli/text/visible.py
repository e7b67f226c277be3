"""Control characters made visible, so that no text can command the terminal that shows it."""

from __future__ import annotations

import unicodedata

KEPT = {"\n", "\t"}
DELETE = 0x7F
CONTROL_PICTURES = 0x2400
DELETE_PICTURE = "\u2421"
BIDI_AND_LINE_CONTROLS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029}
"""They reorder or break what stands beside them: text could be made to look like other text."""
SPACING = {" ": "␣", "\n": "⏎", "\t": "⇥"}
"""Signs for what separates words, where it has to be seen."""
VARIATION_SELECTORS = range(0xFE00, 0xFE10)
"""They choose how the character before them is drawn, and terminals do not agree on how wide it is then."""
BASE = "◌"
"""What a mark stands on that has no letter of its own."""


def visible(text: str) -> str:
    """`text` with every control character but line break and tab shown as a sign: ESC becomes ␛, C1 and the
    like become ⟨U+009B⟩."""
    return "".join(map(_sign, text))


def visible_token(text: str) -> str:
    """`text` on one line, with all that has no shape of its own shown as a sign, so that one sees where it begins and
    ends: blanks become ␣, line breaks ⏎, tabs ⇥."""
    shown = "".join(map(_token_sign, text))
    return BASE + shown if shown and unicodedata.category(shown[0]).startswith("M") else shown


def _token_sign(character: str) -> str:
    if character in SPACING:
        return SPACING[character]
    code, category = ord(character), unicodedata.category(character)
    if category in {"Zs", "Cf"} or code in VARIATION_SELECTORS:
        return f"⟨U+{code:04X}⟩"
    return _sign(character)


def _sign(character: str) -> str:
    code = ord(character)
    if character in KEPT or (
        code not in BIDI_AND_LINE_CONTROLS and unicodedata.category(character) not in {"Cc", "Cs"}
    ):
        return character
    if code < ord(" "):
        return chr(CONTROL_PICTURES + code)
    return DELETE_PICTURE if code == DELETE else f"⟨U+{code:04X}⟩"
