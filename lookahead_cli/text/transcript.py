"""Token ids to text, as they come: whole characters only, and nothing from a stop string on."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from lookahead_cli.text.stops import StopStrings


class Transcript:
    """The text of one generation. The pieces it hands out, joined, are the decoded tokens up to a stop string."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = ()) -> None:
        self.tokenizer = tokenizer
        self.stream = DecodeStream(skip_special_tokens=True)
        self.stop_strings = StopStrings(stops)
        self.token_ids: list[int] = []
        self.decoded_length = 0
        """Characters the stream has given so far, held-back ones included."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been completed."""
        return self.stop_strings.hit

    def add(self, token: int) -> str:
        """The text that became certain with `token`: empty while a character or a stop string is incomplete."""
        self.token_ids.append(token)
        piece = self.stream.step(self.tokenizer, token) or ""
        self.decoded_length += len(piece)
        return self.stop_strings.add(piece)

    def finish(self) -> str:
        """What was still held back. An incomplete character comes out as U+FFFD, as the tokenizer decodes it."""
        tail = self.tokenizer.decode(self.token_ids, skip_special_tokens=True)[self.decoded_length :]
        self.decoded_length += len(tail)
        return self.stop_strings.add(tail) + self.stop_strings.finish()
