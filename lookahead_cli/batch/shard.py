"""`--shard 2/5`: a part of the input, the same whoever reads it."""

from __future__ import annotations

import re

from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.errors import ProfileError
from lookahead_cli.layers import shown

MOST_DIGITS = 9

Shard = tuple[int, int]
"""Which part, from 1, and of how many."""


def parse_shard(text: str) -> Shard:
    """The shard that was typed.

    Raises:
        ProfileError: it is not I/N with I from 1 to N.
    """
    match = re.fullmatch(rf"([0-9]{{1,{MOST_DIGITS}}})/([0-9]{{1,{MOST_DIGITS}}})", text)
    part, parts = (int(number) for number in match.groups()) if match else (0, 0)
    if not 1 <= part <= parts:
        raise ProfileError(
            f"option --shard: {shown(text)} is not allowed: it must be I/N, such as 2/5, with I from 1 to N"
        )
    return part, parts


def in_shard(record: Record | BadRecord, shard: Shard) -> bool:
    """Whether a record belongs to this part: they are dealt out in turn, good and bad alike."""
    part, parts = shard
    return record.number % parts == part - 1
