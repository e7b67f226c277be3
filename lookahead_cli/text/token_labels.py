"""What a token reads as by itself, for those who look at single tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lookahead_cli.text.transcript import INCOMPLETE

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Label = Callable[[int], str]
"""What a token reads as by itself."""

ANCHOR = "a"
"""Text to stand in front: decoders leave out a blank that the text begins with."""
NAMED_BYTE = "<0x??>"
"""How tokenizers name a token that is one byte."""


class TokenLabels:
    """Calls a token by its text: special tokens by their name, bytes that are no whole character by their numbers.

    The text of a generation is not these one after the other (see `transcript.py`): here every token stands alone.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.anchor = tokenizer.encode(ANCHOR, add_special_tokens=False).ids[-1:]
        self.before = self._decode([])
        self.known: dict[int, str] = {}

    def __call__(self, token: int) -> str:
        if token not in self.known:
            self.known[token] = self._label(token)
        return self.known[token]

    def _label(self, token: int) -> str:
        text = self._decode([token])
        text = text[len(self.before) :] if text.startswith(self.before) else text
        if INCOMPLETE in text:
            content = bytes_of(self.tokenizer.id_to_token(token) or "")
            text = f"⟨{content.hex().upper()}⟩" if content else text
        return text or f"⟨#{token}⟩"

    def _decode(self, tokens: list[int]) -> str:
        return self.tokenizer.decode([*self.anchor, *tokens], skip_special_tokens=False)


def bytes_of(name: str) -> bytes:
    """The bytes that a tokenizer's name for a token stands for; none if it is not made of bytes."""
    if len(name) == len(NAMED_BYTE) and name.startswith("<0x") and name.endswith(">"):
        try:
            return bytes.fromhex(name[3:5])
        except ValueError:
            return b""
    alphabet = byte_alphabet()
    return bytes(alphabet[character] for character in name) if set(name) <= alphabet.keys() else b""


def byte_alphabet() -> dict[str, int]:
    """The characters that byte-level tokenizers write bytes as (Radford et al. 2019): printable ones stand for
    themselves, the others are moved to U+0100 and up."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}
