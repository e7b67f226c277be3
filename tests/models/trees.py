"""Random trees of guesses, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from lookahead_cli.decoding.draft import ROOT, Draft


@st.composite
def drafts(draw: st.DrawFn, vocab: int, most_nodes: int = 12) -> Draft:
    """A trie of at most `most_nodes` nodes; nodes come after their parents, siblings hold different tokens."""
    count = draw(st.integers(0, most_nodes))
    tokens: list[int] = []
    parents: list[int] = []
    taken: set[tuple[int, int]] = set()
    for _ in range(count):
        parent = draw(st.integers(ROOT, len(tokens) - 1))
        token = draw(st.integers(0, vocab - 1))
        if (parent, token) not in taken:
            taken.add((parent, token))
            tokens.append(token)
            parents.append(parent)
    return Draft(tuple(tokens), tuple(parents), ("test",) * len(tokens))
