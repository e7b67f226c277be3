"""What each drafter knows after what it has seen, and that it forgets within its bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.drafters import Outcome
from lookahead_cli.decoding.drafters.copies import INDEXED_LENGTHS, LONGEST_MATCH, PLACES, Copies
from lookahead_cli.decoding.drafters.iterates import FRESH, WINDOW, Iterates
from lookahead_cli.decoding.drafters.ngram_pool import NgramPool
from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.drafters.runner_ups import RunnerUps
from lookahead_cli.decoding.drafters.successors import ModelSuccessors, Successors
from lookahead_cli.decoding.growth import Tree
from lookahead_cli.decoding.likely import CERTAINTIES, LikelyTokens, certainty, likely_tokens
from lookahead_cli.decoding.prior_knowledge import PriorKnowledge
from lookahead_cli.decoding.select import SamplingSettings
from lookahead_cli.decoding.wanted import Wanted
from lookahead_cli.decoding.window_branch import WindowBranch
from lookahead_cli.decoding.window_init import WINDOW_INITS
from lookahead_cli.profile import DecodingSettings
from tests.decoding.decoded import no_draft_model

VOCAB = 50
texts = st.lists(st.integers(0, 3), min_size=2, max_size=80)


def outcome(before: Sequence[int], draft: Draft, path: Sequence[int], outputs: Sequence[int]) -> Outcome:
    """A step after `before` whose row i says `outputs[i]` with probability near 1, and then its neighbour."""
    assert len(outputs) == 1 + len(draft)
    logits = torch.zeros(len(outputs), VOCAB)
    for row, token in enumerate(outputs):
        logits[row, token], logits[row, (token + 1) % VOCAB] = 20.0, 10.0
    rows = [0, *(1 + node for node in path)]
    committed = [*before, *(outputs[row] for row in rows)]
    return Outcome(committed, len(before), draft, tuple(path), likely_tokens(logits), logits)


def test_likely_tokens_are_those_with_most_probability() -> None:
    logits = torch.randn(3, VOCAB, generator=torch.Generator().manual_seed(0))
    likely = likely_tokens(logits, 5)
    probabilities = torch.softmax(logits, -1)
    for row in range(3):
        assert likely.ids[row] == logits[row].argsort(descending=True)[:5].tolist()
        assert likely.probabilities[row] == pytest.approx(probabilities[row, likely.ids[row]].tolist())
    assert len(likely_tokens(torch.zeros(1, 3)).ids[0]) == 3


def test_guesses_go_by_the_name_in_the_registry() -> None:
    settings = DecodingSettings(repetition_penalty=1.0)
    knowledge = PriorKnowledge(rehearsed=Rehearsed())
    wanted = Wanted(settings, SamplingSettings(), VOCAB, lambda: knowledge, no_draft_model)
    keys = []
    for name, make in DRAFTERS.items():
        for drafter in make(wanted):
            assert drafter.name == name
            keys.append(drafter.key)
    assert len(set(keys)) == len(keys)


# Copies


def longest_match(text: Sequence[int]) -> int:
    """Length of the longest suffix of `text` that also ends somewhere before its end."""
    return max(
        (
            length
            for length in range(1, min(LONGEST_MATCH, len(text) - 1) + 1)
            if any(list(text[end - length : end]) == list(text[-length:]) for end in range(length, len(text)))
        ),
        default=0,
    )


@given(text=texts)
def test_copies_find_the_longest_match(text: list[int]) -> None:
    copies = Copies(10_000)
    copies.begin(text, None)
    matches = copies.root(text)
    longest = longest_match(text)
    # Only the latest places of a short run are kept; runs of the indexed lengths are found for certain.
    floor = max((length for length in INDEXED_LENGTHS if length <= longest), default=0)
    assert floor <= (matches[0].length if matches else 0) <= longest
    for match in matches:
        assert match.tokens[match.position - match.length : match.position] == text[-match.length :]


@given(text=texts)
def test_copies_follow_their_matches(text: list[int]) -> None:
    copies = Copies(10_000)
    copies.begin(text, None)
    state = copies.root(text)
    for token in copies.guesses(state):
        followed = copies.follow(state, token)
        assert followed
        for match in followed:
            assert match.tokens[match.position - match.length : match.position] == [*text, token][-match.length :]


@given(text=texts)
def test_the_cost_of_a_token_does_not_grow_with_the_text(text: list[int]) -> None:
    copies = Copies(10_000)
    copies.begin(text, None)
    assert len(copies.shelf.places) <= len(INDEXED_LENGTHS) * len(text)
    assert all(len(places) <= PLACES for places in copies.shelf.places.values())
    assert len(copies.root(text)) <= PLACES * len(INDEXED_LENGTHS)


def test_copies_of_an_earlier_text_are_another_kind_and_no_match_crosses_the_border() -> None:
    copies = Copies(10_000)
    copies.begin([7, 8, 9], None)
    copies.begin([5, 7, 8], None)
    (match,) = copies.root([5, 7, 8])
    assert match.earlier_text
    assert match.length == 2
    assert list(copies.guesses([match])) == [9]
    assert copies.guesses(copies.follow([match], 9)) == {}, "the earlier text ends there"
    copies.learn(outcome([5, 7, 8], Draft(), [], [9]))
    copies.learn(outcome([5, 7, 8, 9], Draft(), [], [7]))
    assert {match.earlier_text for match in copies.root([5, 7, 8, 9, 7])} == {False, True}


def test_a_conversation_that_goes_on_is_no_earlier_text_and_stands_on_the_shelf_once() -> None:
    copies = Copies(10_000)
    copies.begin([7, 8, 9], None)
    copies.learn(outcome([7, 8, 9], Draft(), [], [5]))
    copies.begin([7, 8, 9, 5, 1, 7, 8], None)
    (match,) = copies.root([7, 8, 9, 5, 1, 7, 8])
    assert not match.earlier_text
    copies.begin([7, 8, 1], None)
    assert {match.earlier_text for match in copies.root([7, 8, 1, 7, 8])} == {True, False}, "another one is a new text"


def test_old_texts_go_when_the_shelf_is_full() -> None:
    copies = Copies(most_entries=1000)
    for start in range(40):
        copies.begin([start * 100 + place for place in range(50)], None)
        assert len(copies.shelf.places) + len(copies.old.places) <= 1000 + 2 * 50 * len(INDEXED_LENGTHS)
    assert copies.root([3900, 3901]), "the latest text is there"
    assert not copies.root([0, 1]), "the first one is not"


# Successors


def test_successors_of_accepted_and_rejected_rows_are_known_by_context() -> None:
    draft = Draft((10, 20, 11), (-1, -1, 0), ("x",) * 3)
    seen = outcome([1, 2, 3], draft, [0], [10, 30, 40, 12])
    sure = certainty(0.9999)
    for order, context in ((1, (20,)), (2, (3, 20)), (3, (2, 3, 20))):
        successors = Successors(order, 1000)
        successors.learn(seen)
        guesses = successors.guesses(successors.follow(successors.root([1, 2, 3]), 20))
        assert guesses[40] == sure, "of the rejected guess"
        assert context[-order:] in successors.kinds
        state = successors.follow(successors.follow(successors.root([1, 2, 3]), 10), 11)
        assert successors.guesses(state)[12] == sure, "of a guess behind an accepted one"


def test_prompt_rows_are_successors_too() -> None:
    successors = Successors(2, 1000)
    successors.begin([4, 5, 6], LikelyTokens([[5], [7]], [[0.5], [0.9]]))
    assert successors.guesses((4, 5)) == {7: certainty(0.9)}
    assert successors.guesses((5, 6)) == {}


def test_the_context_least_recently_asked_for_goes_first() -> None:
    successors = Successors(1, 3)
    for token in (1, 2, 3):
        successors.learn(outcome([token], Draft(), [], [9]))
    assert successors.guesses((1,))
    successors.learn(outcome([4], Draft(), [], [9]))
    assert [token for token in (1, 2, 3, 4) if successors.guesses((token,))] == [1, 3, 4]
    assert len(successors.mixed) == 3


class Rehearsed:
    """A model that says 42 after anything."""

    def after_single(self, token: int) -> dict[int, int]:
        return {42: 5}

    def look_up(self, context: tuple[int, ...]) -> dict[int, int]:
        return {42: 5}


def test_rehearsed_rows_stand_in_until_there_are_own_ones_and_are_kinds_of_their_own() -> None:
    successors = Successors(1, 100, Rehearsed())
    assert successors.guesses((3,)) == {42: CERTAINTIES + 5}
    successors.learn(outcome([3], Draft(), [], [9]))
    assert 42 not in successors.guesses((3,))
    assert ModelSuccessors(Rehearsed()).guesses(3) == {42: 5}
    assert Successors(2, 100, Rehearsed()).guesses((3,)) == {}, "too short a text for two tokens"


# Runner-ups


def test_runner_ups_are_what_was_nearly_said() -> None:
    runner_ups = RunnerUps()
    runner_ups.begin([1, 2], None)
    assert runner_ups.guesses(runner_ups.root([1, 2])) == {}
    runner_ups.learn(outcome([1, 2], Draft.chain([10, 33], "x"), [0], [10, 20, 30]))
    guesses = runner_ups.guesses(runner_ups.root([1, 2, 10, 20]))
    assert 21 in guesses, "after the last said token"
    assert guesses[11] >= CERTAINTIES, "of the row before: another kind"
    assert 20 not in guesses
    assert 31 not in guesses, "a rejected row chose nothing"
    assert runner_ups.guesses(runner_ups.follow(True, 21)) == {}


# N-grams


def test_the_pool_holds_runs_of_outputs_along_rejected_branches() -> None:
    pool = NgramPool(1000)
    draft = Draft((10, 11, 12), (-1, 0, 1), ("x",) * 3)
    pool.learn(outcome([1, 2], draft, [], [20, 21, 22, 23]))
    assert list(pool.guesses((2, 20))) == [21]
    assert list(pool.guesses((21, 22))) == [23]
    assert list(pool.guesses((99, 21))) == [22], "by the last token alone"
    assert pool.guesses((10, 99)) == {}, "guesses are no outputs"


def test_the_n_gram_least_recently_useful_goes_first() -> None:
    pool = NgramPool(most_entries=3)
    for start in (1, 2, 3):
        pool.add([start, 9])
    assert pool.guesses((1,))
    pool.add([4, 9])
    assert [start for start in (1, 2, 3, 4) if pool.guesses((start,))] == [1, 3, 4]


# Jacobi iterates


def iterates() -> Iterates:
    made = Iterates(WINDOW_INITS["copy-last"], SamplingSettings(), VOCAB)
    made.begin([1, 2], None)
    return made


def test_a_fresh_window_is_filled_by_the_init_strategy() -> None:
    made = iterates()
    state = made.root([1, 2])
    for _ in range(WINDOW):
        assert made.guesses(state) == {2: FRESH}
        state = made.follow(state, 5)
    assert made.guesses(state) == {}


def test_outputs_at_rejected_guesses_move_to_the_positions_they_speak_of() -> None:
    made = iterates()
    draft = Draft.chain([10, 11, 12, 13], "x")
    # The first guess is right, the second wrong: outputs 22 and 23 speak of the first and second token to come.
    made.learn(outcome([1, 2], draft, [0], [10, 20, 22, 23, 24]))
    state = made.root([1, 2, 10, 20])
    assert next(iter(made.guesses(state))) == 22
    assert next(iter(made.guesses(made.follow(state, 22)))) == 23
    assert next(iter(made.guesses(made.follow(made.follow(state, 22), 23)))) == 24


# The window branch


def window_branch(width: int, ngram_length: int, pool: NgramPool) -> WindowBranch:
    made = WindowBranch(width, ngram_length, pool, WINDOW_INITS["copy-last"], SamplingSettings(), VOCAB)
    made.begin([1, 2])
    return made


def test_the_window_fills_level_by_level_and_gives_n_grams() -> None:
    pool = NgramPool(1000)
    window = window_branch(3, 4, pool)
    committed = [1, 2]
    for step in range(6):
        tree = Tree()
        window.add_to(tree, most_depth=20)
        levels = min(step + 1, 3)
        assert len(tree) <= window.nodes == 9
        deepest = max(len(tree.draft().path_to(node)) for node in range(len(tree)))
        assert deepest == 3 + levels - 1, "a chain of three with branches"
        chain = [level[0] for level in window.levels]
        draft = tree.draft()
        path = [node for node in (draft.children.get((-1, 5)),) if node is not None]
        outputs = [5] + [(token + 1) % VOCAB for token in draft.tokens]
        seen = outcome(committed, draft, path, outputs)
        window.learn(seen)
        committed = list(seen.committed)
        assert (chain[-1] + 1) % VOCAB in pool.guesses((chain[-1],))


def test_the_window_moves_with_the_text() -> None:
    window = window_branch(4, 2, NgramPool(1000))
    tree = Tree()
    window.add_to(tree, most_depth=20)
    assert tree.tokens == [2, 2, 2, 2]
    # Two guesses are accepted: of the four new outputs the first two are behind the text now.
    window.learn(outcome([1, 2], tree.draft(), [0, 1], [2, 2, 30, 31, 32]))
    assert window.levels == [[31, 32, 30, 30]]


def test_the_window_keeps_within_the_depth_allowed() -> None:
    window = window_branch(5, 4, NgramPool(1000))
    for depth in (0, 1, 3):
        tree = Tree()
        window.add_to(tree, most_depth=depth)
        draft = tree.draft()
        assert max((len(draft.path_to(node)) for node in range(len(draft))), default=0) <= depth
