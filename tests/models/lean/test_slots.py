"""Where entries lie keeps the order of every sum over keys: what `slots.py` promises, for any tree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.models.lean.slots import ALIGNMENT, LONG_PAGES, SHORT_PAGES, Pages, Placement, place

PAGES = st.sampled_from([SHORT_PAGES, LONG_PAGES])
# Anywhere, but more often where a step reaches over the end of a page.
lengths = st.one_of(
    st.integers(0, 1000),
    st.builds(lambda page, before: max(128 * page - before, 0), st.integers(1, 6), st.integers(0, 12)),
)


@st.composite
def grown(draw: st.DrawFn, most_nodes: int = 90) -> tuple[Placement, list[int]]:
    """A placement with as many nodes as fit of a random tree, and their parents. Deep trees and wide ones."""
    placement = Placement(draw(PAGES), draw(lengths))
    parents: list[int] = []
    reach = draw(st.sampled_from([1, 3, 1000]))
    """How far back a parent may lie: 1 is a chain."""
    for _ in range(draw(st.integers(0, most_nodes))):
        parent = draw(st.integers(max(len(parents) - reach, -1), len(parents) - 1))
        if placement.fits(parent):
            placement.take(parent)
            parents.append(parent)
    return placement, parents


def page_of(slot: int, pages: Pages) -> int:
    return slot // pages.slots


def lineage_positions(placement: Placement, row: int) -> range:
    """The positions that the slots of a lineage stand for: from the pending token's to the row's own."""
    return range(placement.positions[0], placement.positions[row] + 1)


@pytest.mark.parametrize("pages", [SHORT_PAGES, LONG_PAGES])
def test_pages_have_whole_columns_and_room_to_spare(pages: Pages) -> None:
    assert pages.positions % (2 * ALIGNMENT) == 0, "no pair of positions is torn apart"
    assert pages.slots % ALIGNMENT == 0
    assert pages.slots > pages.positions


@given(PAGES, st.integers(0, 5000))
def test_committed_tokens_lie_in_order_and_a_cache_holds_them(pages: Pages, position: int) -> None:
    slot = pages.slot_of(position)
    assert slot < pages.slot_of(position + 1)
    assert slot % ALIGNMENT == position % ALIGNMENT
    assert page_of(slot, pages) == position // pages.positions
    assert pages.slots_for(position + 1) == (page_of(slot, pages) + 1) * pages.slots
    assert pages.slots_for(0) == 0


@given(grown())
def test_positions_follow_the_tree(made: tuple[Placement, list[int]]) -> None:
    placement, parents = made
    assert len(placement.positions) == len(placement.slots) == len(placement.lineages) == 1 + len(parents)
    for node, parent in enumerate(parents):
        assert placement.positions[1 + node] == placement.positions[1 + parent] + 1


@given(grown())
def test_slots_of_a_step_are_its_own_and_in_the_page_and_lane_of_their_position(
    made: tuple[Placement, list[int]],
) -> None:
    placement, parents = made
    pages = placement.pages
    stored = [slot for _, slot in placement.entries]
    assert len(set(stored)) == len(stored), "nothing is stored over something else"
    committed = {pages.slot_of(position) for position in range(placement.positions[0])}
    assert not committed & set(stored), "what is committed stays"
    for row, slot in placement.entries:
        position = placement.positions[row]
        assert page_of(slot, pages) == position // pages.positions
        assert slot % ALIGNMENT == position % ALIGNMENT
        assert slot >= pages.slot_of(position)
    for row in range(1 + len(parents)):
        assert (row, placement.slots[row]) in placement.entries
    assert {row for row, _ in placement.entries} == set(range(1 + len(parents)))


@given(grown())
def test_a_lineage_is_the_rows_from_the_pending_token_to_its_own(made: tuple[Placement, list[int]]) -> None:
    placement, parents = made
    rows_at = {slot: row for row, slot in placement.entries}
    for row, lineage in enumerate(placement.lineages):
        path = [row]
        while path[-1] > 0:
            path.append(parents[path[-1] - 1] + 1)
        assert [rows_at[slot] for slot in lineage] == path[::-1]


@given(grown())
def test_a_lineage_ascends_and_its_pairs_lie_side_by_side(made: tuple[Placement, list[int]]) -> None:
    placement, _ = made
    pages, length = placement.pages, placement.positions[0]
    for row, lineage in enumerate(placement.lineages):
        # Pages are summed one after the other, so pages ascend too.
        assert all(earlier < later for earlier, later in pairwise(lineage))
        slots = dict(zip(lineage_positions(placement, row), lineage, strict=True))
        if length:
            slots[length - 1] = pages.slot_of(length - 1)
            assert slots[length - 1] < lineage[0]
        for position, slot in slots.items():
            if position % 2 and position - 1 in slots:
                assert slot == slots[position - 1] + 1


@given(PAGES, lengths, st.integers(0, 300))
def test_a_chain_lies_where_committed_tokens_do(pages: Pages, length: int, nodes: int) -> None:
    chain = place(pages, length, range(-1, nodes - 1))
    assert chain.is_chain
    assert chain.slots == [pages.slot_of(length + row) for row in range(1 + nodes)]
    assert chain.entries == list(enumerate(chain.slots))


@given(grown())
def test_what_is_called_a_chain_is_one(made: tuple[Placement, list[int]]) -> None:
    placement, parents = made
    assert placement.is_chain == (parents == list(range(-1, len(parents) - 1)))


@given(grown())
def test_a_seat_is_taken_where_there_is_one_and_only_there(made: tuple[Placement, list[int]]) -> None:
    placement, parents = made
    for parent in range(-1, len(parents)):
        again = place(placement.pages, placement.positions[0], parents)
        assert again.slots == placement.slots
        if again.fits(parent):
            again.take(parent)
            assert len(again.slots) == len(placement.slots) + 1
            assert again.slots[:-1] == placement.slots
        else:
            with pytest.raises(AssertionError):
                again.take(parent)


@given(PAGES, st.integers(0, 1000))
def test_there_are_seats_for_a_branch_at_every_place(pages: Pages, length: int) -> None:
    """However full a page is, the pending token can have two children: a tree is never refused altogether."""
    placement = Placement(pages, length)
    for _ in range(2):
        assert placement.fits(-1)
        placement.take(-1)


@pytest.mark.parametrize("length", [79, 80])
def test_a_draft_deeper_than_a_column_is_wide_does_not_meet_its_own_first_nodes(length: int) -> None:
    parents = [-1, -1, -1, 0, *range(3, 62)]  # three guesses side by side, the first with a long chain behind it
    placement = place(LONG_PAGES, length, parents)
    assert len(set(placement.slots)) == len(placement.slots)
