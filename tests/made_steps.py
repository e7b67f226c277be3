"""Steps as decoding would yield them, for tests of those who show or record them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.events import MODEL, StepEvent
from tests.models.trees import drafts

VOCAB = 30
DRAFTERS = ("copies", "successors", "window")


def step_of(draft: Draft, path: tuple[int, ...], *, own: int | None = 7, seconds: float = 0.01) -> StepEvent:
    """The step in which `path` was accepted; `own` is the bonus token, None if the text ended before it."""
    tokens = tuple(draft.tokens[node] for node in path) + (() if own is None else (own,))
    return StepEvent(
        token_ids=tokens,
        provenance=(*(draft.provenance[node] for node in path), MODEL)[: len(tokens)],
        texts=tuple(f"<{token}>" for token in tokens),
        drafted_by=draft.count_by_drafter,
        seconds=seconds,
        tested_depth=min(draft.tested_depth(path), len(tokens)),
        draft=draft,
        path=path,
        finish_reason="eos" if own is None else None,
    )


@st.composite
def steps(draw: st.DrawFn, most_nodes: int = 40) -> StepEvent:
    """Any draft, any accepted path through it, with or without a bonus token."""
    draft = draw(drafts(VOCAB, most_nodes))
    names = draw(st.lists(st.sampled_from(DRAFTERS), min_size=len(draft), max_size=len(draft)))
    draft = replace(draft, provenance=tuple(names))
    path = tuple(draft.path_to(draw(st.integers(ROOT, len(draft) - 1))))
    taken = {token for parent, token in draft.children if parent == (path[-1] if path else ROOT)}
    ends = draw(st.sampled_from([False, True])) if path else False
    own = None if ends else min(set(range(VOCAB + 50)) - taken)
    return step_of(draft, path, own=own, seconds=draw(st.floats(0, 10)))
