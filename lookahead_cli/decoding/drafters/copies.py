"""Copies: what followed the last time the text ended like this, in the prompt and in the output.

Known as prompt lookup (Saxena 2023) and suffix decoding (Oliaro et al. 2024, arXiv 2411.04975). Several places are
kept and grown into the tree side by side; how much a match is worth depends on how long it is, how many others say the
same, and whether it lies in this text or an earlier one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lookahead_cli.decoding.drafters import Outcome
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.select import SamplingSettings

NAME = "copies"
INDEXED_LENGTHS = (8, 4, 2, 1)
"""Lengths of the runs that are indexed, longest first: a token costs so many entries, however long the text is."""
PLACES = 8
"""Latest places kept for each run."""
LONGEST_MATCH = 16
"""Tokens a match is followed back at most."""
BORDER = -1
"""Stands between two texts: no token, so no match crosses it."""
LENGTH_EDGES = (2, 3, 4, 5, 7, 10, 16, 32)
EXPECTED_BY_LENGTH = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
RANKS, ORIGINS, SHARES = 3, 2, 4
"""Parts of a kind: first, second or later continuation; this text or an earlier one; how many matches agree."""


@dataclass
class Shelf:
    """Texts one after the other, and where each run of tokens was seen to go on."""

    tokens: list[int] = field(default_factory=list)
    places: dict[tuple[int, ...], deque[int]] = field(default_factory=dict)
    """Run -> positions in `tokens` of what followed it, latest last."""

    def add(self, token: int) -> None:
        """Append a token and index the runs that end before it."""
        end = len(self.tokens)
        for length in INDEXED_LENGTHS:
            run = tuple(self.tokens[end - length : end])
            if len(run) == length and BORDER not in run:
                self.places.setdefault(run, deque(maxlen=PLACES)).append(end)
        self.tokens.append(token)


class Match(NamedTuple):
    """A place where the text so far was seen before."""

    tokens: list[int]
    position: int
    """Of what followed there."""
    length: int
    """How many tokens before it agree."""
    earlier_text: bool


class Copies:
    """Two shelves bound the memory: when one is full it becomes the old one, and what was the old one is dropped."""

    name = key = NAME

    def __init__(self, most_entries: int, library: Copies | None = None) -> None:
        """`library` knows earlier texts, and is given this one when it ends."""
        self.most_entries = most_entries
        self.library = library
        self.shelf, self.old = Shelf(), Shelf()
        self.start = 0
        """Where the present text begins on the shelf."""
        self.read = 0
        """Tokens of the present text that have been put on it."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        present = self.shelf.tokens[self.start :]
        if not present or len(present) != self.read or list(prompt[: self.read]) != present:
            self.shelf.tokens.append(BORDER)
            self.start = len(self.shelf.tokens)
            self.read = 0
        # Else it is the same conversation, and goes on: its turns are not put on the shelf twice.
        self._read_on(prompt)

    def beside(self, sampling: SamplingSettings) -> Copies:
        return Copies(self.most_entries, library=self if self.library is None else self.library)

    def end(self) -> None:
        if self.library is not None:
            self.library.begin(self.shelf.tokens[self.start :], None)

    @property
    def shelves(self) -> list[Shelf]:
        """Where to look, that of the present text first."""
        own = [self.shelf, self.old]
        return own if self.library is None else [*own, *self.library.shelves]

    def root(self, committed: Sequence[int]) -> list[Match]:
        self._read_on(committed)  # steps that nobody learned from
        found: dict[tuple[int, int], Match] = {}
        for length in INDEXED_LENGTHS:
            run = tuple(committed[-length:])
            if len(run) < length:
                continue
            for age, shelf in enumerate(self.shelves):
                for position in reversed(shelf.places.get(run, ())):
                    if (age, position) not in found:
                        agreed = agreeing(shelf.tokens, position, committed, length)
                        earlier = age > 0 or position < self.start
                        found[age, position] = Match(shelf.tokens, position, agreed, earlier)
        return sorted(found.values(), key=lambda match: -match.length)

    def follow(self, state: list[Match], token: int) -> list[Match]:
        return [
            Match(match.tokens, match.position + 1, match.length + 1, match.earlier_text)
            for match in state
            if match.position < len(match.tokens) and match.tokens[match.position] == token
        ]

    def guesses(self, state: list[Match]) -> Mapping[int, int]:
        best: dict[int, Match] = {}
        votes: dict[int, int] = {}
        for match in state:
            token = match.tokens[match.position] if match.position < len(match.tokens) else BORDER
            if token != BORDER:
                best.setdefault(token, match)
                votes[token] = votes.get(token, 0) + 1
        total = sum(votes.values())
        return {token: kind_of(match, rank, votes[token] / total) for rank, (token, match) in enumerate(best.items())}

    def expected(self, kind: int) -> float:
        length, rank = divmod(kind // (ORIGINS * SHARES), RANKS)
        return EXPECTED_BY_LENGTH[length] * (1.0, 0.3, 0.2)[rank]

    def learn(self, outcome: Outcome) -> None:
        self._read_on(outcome.committed)

    def _read_on(self, committed: Sequence[int]) -> None:
        for token in committed[self.read :]:
            self._add(token)
        self.read = len(committed)

    def _add(self, token: int) -> None:
        if len(self.shelf.tokens) * len(INDEXED_LENGTHS) > self.most_entries // 2:
            self.shelf, self.old = Shelf(self.shelf.tokens[-LONGEST_MATCH:]), self.shelf
            self.start = 0
        self.shelf.add(token)


def kind_of(match: Match, rank: int, share: float) -> int:
    """The kind of a continuation: `rank` is its place among all, longest match first; `share` how many match agree."""
    length = sum(match.length >= edge for edge in LENGTH_EDGES)
    kind = length * RANKS + min(rank, RANKS - 1)
    return (kind * ORIGINS + match.earlier_text) * SHARES + min(int(SHARES * share), SHARES - 1)


def agreeing(tokens: Sequence[int], position: int, committed: Sequence[int], known: int) -> int:
    """How many tokens before `position` are the last ones of `committed`; at least `known`, at most LONGEST_MATCH."""
    length = known
    most = min(LONGEST_MATCH, position, len(committed))
    while length < most and tokens[position - 1 - length] == committed[-1 - length]:
        length += 1
    return length
