"""Where two outputs part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.bench.difference import differing_tokens, first_difference

tokens = st.lists(st.integers(0, 2), max_size=6)


@given(tokens, tokens)
def test_the_first_place_where_they_are_not_the_same(found: list[int], expected: list[int]) -> None:
    position = first_difference(found, expected)
    assert (differing_tokens(found, expected) == 0) == (position is None)
    assert differing_tokens(found, expected) <= max(len(found), len(expected)) - (position or 0)
    if position is None:
        assert found == expected
        return
    assert found[:position] == expected[:position]
    assert found[position : position + 1] != expected[position : position + 1]
