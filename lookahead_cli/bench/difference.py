"""Where two outputs part, and how near a tie the model was there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest

from lookahead_cli.errors import FAILURES
from lookahead_cli.session import Session

END = "(end of the output)"


@dataclass(frozen=True)
class Difference:
    """The first place where two outputs are not the same."""

    position: int
    """In the output, from 0."""
    expected: str
    """The token that stands there, as text; the same for `found`."""
    found: str
    expected_id: int | None
    """None: the output had ended."""
    found_id: int | None
    gap: float | None
    """Between the model's two largest logits for that position; None: they could not be worked out again."""
    differing: int
    """Places of the two outputs where the tokens are not the same."""
    length: int
    """Of the longer one."""


def differing_tokens(found: Sequence[int], expected: Sequence[int]) -> int:
    """Places where the two are not the same, up to the end of the longer one."""
    return sum(left != right for left, right in zip_longest(found, expected))


def first_difference(found: Sequence[int], expected: Sequence[int]) -> int | None:
    """The first place where the two are not the same, the end of one of them included; None if they are."""
    pairs = enumerate(zip_longest(found, expected))
    return next((place for place, (left, right) in pairs if left != right), None)


def explain(
    session: Session, prompt_ids: Sequence[int], found: Sequence[int], expected: Sequence[int], position: int
) -> Difference:
    """What stands at the first difference, and the logits there: one more forward pass over the text up to it."""
    text = [*prompt_ids, *expected[:position]]
    session.cache_use.claim()
    gap = None
    with suppress(*FAILURES):  # what has been found out is worth more than this number
        session.runner.prefill(text[:-1])
        first, second = session.runner.step(text[-1], (), ())[0].topk(2).values.tolist()
        gap = first - second
    found_id, expected_id = (ids[position] if position < len(ids) else None for ids in (found, expected))
    return Difference(
        position, told(session, expected_id), told(session, found_id), expected_id, found_id, gap,
        differing_tokens(found, expected), max(len(found), len(expected)),
    )  # fmt: skip


def told(session: Session, token: int | None) -> str:
    """A token as its text."""
    return END if token is None else session.loaded.tokenizer.backend_tokenizer.decode([token], False)
