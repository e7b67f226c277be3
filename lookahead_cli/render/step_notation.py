"""A step as signs on a line: what came out, and at its place what had been guessed wrong.

    ✓␣quick ✓␣brown{✗␣red·fox│✗␣lazy} +␣fox{✗␣dog·(␣ran│␣sat)} …and 12 more

The tokens outside braces are those that were emitted, in order: accepted guesses and the model's own. In the braces
behind a token stand the guesses for the same place that were rejected, with all that was guessed after them: `a·b` is b
after a, `a·(b│c)` b or c after it. So a window is a single run: its accepted beginning, and the rest of it in braces.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from lookahead_cli.decoding.draft import ROOT
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.text.visible import visible_token

if TYPE_CHECKING:
    from lookahead_cli.text.token_labels import Label

MOST_CELLS = 24
"""Of a token: runs of blanks can be longer than a line."""
OPEN, CLOSE, OR, THEN, FORK, JOIN, CUT = "{", "}", "│", "·", "·(", ")", "…"


class Role(Enum):
    """What became of a token, or that it is none."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BONUS = "bonus"
    ASIDE = "aside"


SIGNS = {Role.ACCEPTED: "✓", Role.REJECTED: "✗", Role.BONUS: "+"}
"""In front of tokens where there are no colours to tell them apart."""
NO_SIGNS = dict.fromkeys(SIGNS, "")


@dataclass(frozen=True)
class Piece:
    """A token and the notation around it, not to be torn apart by the end of a line."""

    text: str
    role: Role
    lead: str = ""
    tail: str = ""
    apart: bool = False
    """Whether a blank stands before it."""

    @property
    def cells(self) -> int:
        """Its width, without the blank."""
        return cell_len(self.lead + self.text + self.tail)


class Lead(NamedTuple):
    """Notation that belongs to the token after it."""

    text: str


class Tail(NamedTuple):
    """Notation that belongs to the token before it."""

    text: str


def fitted_pieces(step: StepEvent, label: Label, signs: dict[Role, str], cells: int) -> list[Piece]:
    """The pieces of a step: all that was emitted, and of the rejected guesses as many as fit into so many `cells`,
    those first that were guessed first, but always some."""

    def width(rejected: int) -> int:
        return sum(piece.cells + piece.apart for piece in pieces(step, label, signs, rejected))

    every = len(step.rejected)
    limit = max(cells, width(0) + cells // 2)
    if every == 0 or width(every) <= limit:
        return pieces(step, label, signs, every)
    # A guess takes a cell and a sign at least: no need to try more of them than that.
    counts = range(min(every, limit // 2))
    most = bisect_left(counts, True, key=lambda count: width(count + 1) > limit)
    return pieces(step, label, signs, most)


def pieces(step: StepEvent, label: Label, signs: dict[Role, str], most_rejected: int) -> list[Piece]:
    """The pieces of a step, with the first `most_rejected` of its rejected guesses; how many more there are is said."""
    shown, more = step.rejected[:most_rejected], step.rejected[most_rejected:]
    followers: defaultdict[int, list[int]] = defaultdict(list)
    for node in shown:
        followers[step.draft.parents[node]].append(node)
    made = []
    for place, token in enumerate(step.token_ids):
        role = Role.ACCEPTED if place < len(step.path) else Role.BONUS
        made.append(Piece(shortened(label(token)), role, lead=signs[role], apart=True))
        followed = step.path[place - 1] if place else ROOT
        made += branches(followers[followed], followers, step, label, signs[Role.REJECTED])
    if more:
        made.append(aside(f"{CUT}and {len(more)} more"))
    if step.unneeded:
        made.append(aside(f"({len(step.unneeded)} behind the end)"))
    return made + drafter_pieces(step)


def branches(
    roots: Sequence[int], followers: dict[int, list[int]], step: StepEvent, label: Label, sign: str
) -> list[Piece]:
    """The rejected guesses for one place and all after them."""
    made: list[Piece] = []
    lead = ""
    stack = bracketed(roots, OPEN, CLOSE, sign)[::-1] if roots else []
    while stack:
        item = stack.pop()
        if isinstance(item, Lead):
            lead += item.text
        elif isinstance(item, Tail):
            made[-1] = replace(made[-1], tail=made[-1].tail + item.text)
        else:
            made.append(Piece(shortened(label(step.draft.tokens[item])), Role.REJECTED, lead))
            lead = ""
            after = followers[item]
            if len(after) == 1:
                stack += [after[0], Lead(THEN)]
            elif after:
                stack += bracketed(after, FORK, JOIN)[::-1]
    return made


def bracketed(nodes: Sequence[int], opening: str, closing: str, sign: str = "") -> list[int | Lead | Tail]:
    """Alternatives, each with a sign in front."""
    items: list[int | Lead | Tail] = [Lead(opening)]
    for number, node in enumerate(nodes):
        items += [Tail(OR)] if number else []
        items += [Lead(sign), node]
    return [*items, Tail(closing)]


def drafter_pieces(step: StepEvent) -> list[Piece]:
    """How many guesses came from whom, and how many of them were accepted."""
    accepted = [step.draft.provenance[node] for node in step.path]
    said = [f"{name} {accepted.count(name)}/{count}" for name, count in step.draft.count_by_drafter.items()]
    made = [aside(f"{text}," if place < len(said) - 1 else f"{text})") for place, text in enumerate(said)]
    return [replace(made[0], lead="("), *made[1:]] if made else []


def aside(text: str) -> Piece:
    return Piece(text, Role.ASIDE, apart=True)


def shortened(text: str, cells: int = MOST_CELLS) -> str:
    """A token on one line, at most so wide."""
    shown = visible_token(text)
    return shown if cell_len(shown) <= cells else set_cell_size(shown, cells - 1).rstrip() + CUT


def laid_out(parts: Iterable[Piece], cells: int) -> list[list[Piece]]:
    """The pieces on lines of at most so many `cells`, unless one alone is wider."""
    lines: list[list[Piece]] = [[]]
    used = 0
    for piece in parts:
        if used and used + piece.apart + piece.cells > cells:
            lines.append([])
            used = 0
        used += piece.cells + (piece.apart and bool(lines[-1]))
        lines[-1].append(piece)
    return lines
