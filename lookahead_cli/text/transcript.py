"""Token ids to text, as they come: whole characters only, and nothing from a stop string on."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer

from lookahead_cli.text.stops import StopStrings

INCOMPLETE = "\N{REPLACEMENT CHARACTER}"
"""What a tokenizer decodes the first bytes of a character to."""
MOST_HELD = 16
"""Tokens held back for a character to become complete: it has 4 bytes at most, so more than this is no character."""


class Transcript:
    """The text of one generation.

    The pieces it hands out, joined, are the decoded tokens up to a stop string. The one exception: a tokenizer that
    spells unknown characters in bytes takes a whole run of bytes back when a later one makes it malformed; what has
    been handed out by then stays.

    `tokenizers.decoders.DecodeStream` would do the same, but gives up with an exception on such a run.
    """

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = (), context: Sequence[int] = ()) -> None:
        """`context` are the tokens in front, if the text continues them: a blank at its beginning then counts."""
        self.tokenizer = tokenizer
        self.stop_strings = StopStrings(stops)
        self.recent = list(context[-MOST_HELD:])
        """The tokens of the last piece handed out and those after it: enough context to decode the next ones right."""
        self.shown = len(self.recent)
        """How many of the recent tokens have been handed out."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been completed."""
        return self.stop_strings.hit

    def add(self, token: int) -> str:
        """The text that became certain with `token`: empty while a character or a stop string is incomplete."""
        self.recent.append(token)
        held = len(self.recent) - self.shown
        return self.stop_strings.add(self._piece(unless_incomplete=held < MOST_HELD))

    def finish(self) -> str:
        """What was still held back. An incomplete character comes out as U+FFFD, as the tokenizer decodes it."""
        return self.stop_strings.add(self._piece(unless_incomplete=False)) + self.stop_strings.finish()

    def _piece(self, unless_incomplete: bool) -> str:
        """The text of the tokens not handed out yet."""
        before = self._decode(self.recent[: self.shown])
        text = self._decode(self.recent)
        if len(text) <= len(before) or (unless_incomplete and text.endswith(INCOMPLETE)):
            return ""
        self.recent = self.recent[self.shown :]
        self.shown = len(self.recent)
        return text[len(before) :]

    def _decode(self, tokens: list[int]) -> str:
        return self.tokenizer.decode(tokens, skip_special_tokens=True)
