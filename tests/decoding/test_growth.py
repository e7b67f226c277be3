"""Trees grow best guess first, hold no guess twice, and stay within what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.draft import ROOT
from lookahead_cli.decoding.drafters import Outcome, SharedByTexts
from lookahead_cli.decoding.growth import Grower, Tree
from lookahead_cli.decoding.hit_rates import HitRates
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.lookahead import as_expected
from lookahead_cli.models.lean.slots import LONG_PAGES, SHORT_PAGES, Placement
from lookahead_cli.models.seats import Seats

KINDS = 10


class Scripted(SharedByTexts):
    """A drafter whose guesses are a function of the tokens before: kind 9 is right nine times in ten."""

    name = "scripted"

    def __init__(self, salt: int, vocab: int = 6, most: int = 3) -> None:
        self.key = self.name = f"scripted-{salt}"
        self.salt, self.vocab, self.most = salt, vocab, most

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        pass

    def root(self, committed: Sequence[int]) -> tuple[int, ...]:
        return tuple(committed)

    def follow(self, state: tuple[int, ...], token: int) -> tuple[int, ...]:
        return (*state, token)

    def guesses(self, state: tuple[int, ...]) -> Mapping[int, int]:
        count = hash((self.salt, state)) % (self.most + 1)
        return {
            hash((self.salt, state, place, -7)) % self.vocab: hash((self.salt, state, place)) % KINDS
            for place in range(count)
        }

    def expected(self, kind: int) -> float:
        return (kind + 0.5) / KINDS

    def learn(self, outcome: Outcome) -> None:
        pass


class Choosy:
    """Seats that refuse some parents, by a rule of their own, and watch that nobody sits down unasked."""

    def __init__(self, salt: int, refusing: int) -> None:
        self.salt, self.refusing = salt, refusing
        self.parents: list[int] = []

    def fits(self, parent: int) -> bool:
        """Once full, a parent stays full: seats are never given back."""
        return self.parents.count(parent) < hash((self.salt, parent)) % self.refusing

    def take(self, parent: int) -> None:
        assert self.fits(parent)
        assert parent < len(self.parents)
        self.parents.append(parent)


def grown(
    nodes: int, salts: Sequence[int], *, depth: int = 8, branching: bool = True, seats: Seats | None = None
) -> tuple[Tree, Grower]:
    drafters = [Scripted(salt) for salt in salts]
    grower = Grower(
        drafters, HitRates(drafters), [1, 2],
        most_depth=depth, branching=branching, foresight=as_expected, seats=seats,
    )  # fmt: skip
    while grower.queue and len(grower.tree) < nodes:
        grower.grow()
    return grower.tree, grower


trees = {
    "nodes": st.integers(0, 40),
    "salts": st.lists(st.integers(0, 10**6), min_size=1, max_size=3, unique=True),
    "depth": st.integers(1, 6),
}


@given(**trees)
def test_a_tree_is_a_trie_within_budget_and_depth_best_guess_first(nodes: int, salts: list[int], depth: int) -> None:
    tree, _ = grown(nodes, salts, depth=depth)
    draft = tree.draft()
    assert len(draft) <= nodes
    edges = list(zip(draft.parents, draft.tokens, strict=True))
    assert len(set(edges)) == len(edges), "a prefix stands twice in the tree"
    assert all(ROOT <= parent < node for node, parent in enumerate(draft.parents))
    assert all(len(draft.path_to(node)) <= depth for node in range(len(draft)))
    assert tree.promise == sorted(tree.promise, reverse=True)
    assert set(draft.provenance) <= {f"scripted-{salt}" for salt in salts}


@given(**trees)
def test_without_branching_the_best_chain_is_grown(nodes: int, salts: list[int], depth: int) -> None:
    tree, _ = grown(nodes, salts, depth=depth, branching=False)
    assert tree.parents == list(range(ROOT, len(tree) - 1))
    whole, _ = grown(1, salts, depth=depth)
    assert tree.tokens[:1] == whole.tokens[: min(1, nodes)]


@given(**trees)
def test_the_promise_of_a_node_is_the_product_along_its_path(nodes: int, salts: list[int], depth: int) -> None:
    tree, grower = grown(nodes, salts, depth=depth)
    for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True)):
        before = 1.0 if parent == ROOT else tree.promise[parent]
        assert tree.promise[node] == pytest.approx(before * grower.assessments[parent].probabilities[token])


def test_what_is_there_is_not_added_twice() -> None:
    tree = Tree()
    first = tree.add(ROOT, 5, "a")
    assert tree.add(ROOT, 5, "b") == first
    assert tree.add(first, 5, "b") != first
    assert tree.draft().provenance == ("a", "b")


@given(count=st.integers(0, 30), salts=trees["salts"])
def test_the_first_nodes_of_a_tree_are_the_tree_of_that_size(count: int, salts: list[int]) -> None:
    large, _ = grown(30, salts)
    small, _ = grown(count, salts)
    assert large.first(min(count, len(large))).draft() == small.draft()


@given(**trees, salt=st.integers(0, 10**6), refusing=st.integers(1, 4))
def test_no_node_is_added_where_there_is_no_seat(
    nodes: int, salts: list[int], depth: int, salt: int, refusing: int
) -> None:
    seats = Choosy(salt, refusing)
    tree, grower = grown(nodes, salts, depth=depth, seats=seats)
    assert seats.parents == tree.parents, "each node has taken one seat, in order"
    assert len(tree) == nodes or not grower.queue
    assert not grower.queue or seats.fits(grower.queue[0][2]), "what is promised next can be had"
    again = Choosy(salt, refusing)
    count = len(tree) // 2
    assert tree.first(count, again).draft() == tree.first(count).draft()
    assert again.parents == tree.parents[:count]


@given(**trees, page=st.sampled_from([SHORT_PAGES, LONG_PAGES]), before=st.integers(0, 12))
def test_near_the_end_of_a_page_the_tree_is_as_large_as_fits(
    nodes: int, salts: list[int], depth: int, page: Any, before: int
) -> None:
    seats = Placement(page, page.positions - before)
    tree, _ = grown(nodes, salts, depth=depth, seats=seats)
    unlimited, _ = grown(nodes, salts, depth=depth)
    assert len(seats.positions) == 1 + len(tree)
    assert len(tree) <= len(unlimited)
    if len(unlimited) <= 2:
        assert tree.draft() == unlimited.draft(), "there is room for two nodes everywhere"


def test_a_tree_knows_its_room() -> None:
    seats = Choosy(salt=0, refusing=2)
    seats.fits = lambda parent: seats.parents.count(parent) < 1  # type: ignore[method-assign]
    tree = Tree(seats)
    node = tree.add(ROOT, 5, "a")
    assert tree.has_room(ROOT, 5), "what is there needs no second seat"
    assert not tree.has_room(ROOT, 6)
    assert tree.has_room(node, 6)
    with pytest.raises(AssertionError):
        tree.add(ROOT, 6, "a")
