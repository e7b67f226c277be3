"""A guess is accepted where the model says the same, and nothing else decides what comes out."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.draft import ROOT, Draft, accept
from lookahead_cli.decoding.select import SamplingSettings, TokenSelector
from tests.models.trees import drafts

VOCAB = 5


def following(tokens: tuple[int, ...], salt: int) -> int:
    """What a made-up model says after these tokens."""
    return hash((salt, *tokens)) % VOCAB


@given(draft=drafts(VOCAB, most_nodes=30), salt=st.integers(0, 1000))
def test_what_is_emitted_is_what_plain_decoding_says_as_far_as_the_tree_goes(draft: Draft, salt: int) -> None:
    before = (1, 2)
    paths = [draft.path_to(node) for node in range(ROOT, len(draft))]
    contexts = [(*before, *(draft.tokens[node] for node in path)) for path in paths]
    logits = torch.nn.functional.one_hot(torch.tensor([following(context, salt) for context in contexts]), VOCAB) * 9.0
    committed = list(before)
    path = accept(draft, logits, TokenSelector(SamplingSettings()), committed)
    emitted = committed[len(before) :]
    assert len(emitted) == len(path) + 1
    for place in range(len(emitted)):
        assert emitted[place] == following(tuple(committed[: len(before) + place]), salt)
    assert list(path) == draft.path_to(path[-1] if path else ROOT)
    assert [draft.tokens[node] for node in path] == emitted[:-1]
    end = path[-1] if path else ROOT
    assert (end, emitted[-1]) not in draft.children, "the walk stopped although a guess agreed"


def test_a_chain_is_a_tree_with_one_branch() -> None:
    chain = Draft.chain([7, 8, 9], "x")
    assert chain.parents == (ROOT, 0, 1)
    assert chain.path_to(2) == [0, 1, 2]
    assert chain.count_by_drafter == {"x": 3}
