"""One budget of guesses for many texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.decoding.growth import Grower
from lookahead_cli.decoding.hit_rates import HitRates
from lookahead_cli.decoding.lookahead import as_expected
from lookahead_cli.decoding.shared_budget import TRIAL_EVERY, TRIAL_PASSES, PassRecord, SharedBudget
from lookahead_cli.decoding.shared_growth import grow_while_it_pays
from tests.decoding.test_hit_rates import Fixed

FLAT_THEN_STEEP = [1.0] * 9 + [1.0 + 0.5 * row for row in range(1, 120)]


def grower(kind: int) -> Grower:
    """A tree whose guesses are right about (kind + 0.5) times in ten, each."""
    drafters = [Fixed("a", {1: kind})]
    return Grower(
        drafters, HitRates(drafters), [1, 2], most_depth=30, branching=True, foresight=as_expected
    )  # fmt: skip


def sizes(kinds: list[int], seconds: list[float], width: int) -> list[int]:
    growers = [grower(kind) for kind in kinds]
    return grow_while_it_pays(growers, [1.0] * len(kinds), seconds, width=width, tokens=float(len(kinds)))


def test_the_text_that_is_guessed_best_gets_most_guesses() -> None:
    low, high = sizes([3, 8], FLAT_THEN_STEEP, width=2)
    assert 0 < low < high
    assert low + high + 2 <= 9, "no more than is cheap"


def test_few_texts_get_deep_trees_and_many_get_thin_ones() -> None:
    alone = sizes([8], FLAT_THEN_STEEP, width=1)[0]
    together = sizes([8] * 4, FLAT_THEN_STEEP, width=4)
    crowd = sizes([8] * 60, FLAT_THEN_STEEP, width=60)
    assert alone > max(together) > 0
    assert sum(crowd) == 0, "where every row costs as much as a text, a guess that may be wrong does not pay"


@given(
    kinds=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    costs=st.lists(st.floats(0.01, 1.0), min_size=40, max_size=40),
)
def test_the_sizes_are_the_best_of_all_that_were_reached(kinds: list[int], costs: list[float]) -> None:
    seconds = [1.0 + sum(costs[:row]) for row in range(len(costs))]
    found = sizes(kinds, seconds, width=len(kinds))
    growers = [grower(kind) for kind in kinds]
    assert all(size <= len(costs) for size in found)

    def rate(counts: list[int]) -> float:
        tokens = float(len(kinds))
        for tree, count in zip(growers, counts, strict=True):
            while tree.queue and len(tree.tree) < count:
                tree.grow()
            tokens += sum(tree.tree.promise[:count])
        return tokens / seconds[len(kinds) + sum(counts)]

    best = rate(found)
    for tree, size in enumerate(found):
        for other in (size - 1, size + 1):
            if other >= 0 and len(kinds) + sum(found) + 1 < len(seconds):
                changed = [*found[:tree], other, *found[tree + 1 :]]
                assert rate(changed) <= best * (1 + 1e-9)


def used(budget: SharedBudget, texts: int, *, drafted: int, accepted: int, overhead: float) -> None:
    """A pass of so many texts; a row takes a tenth of what the pass takes anyway."""
    budget.learn(
        PassRecord(
            texts=texts, guessing=texts if drafted else 0, drafted=drafted, accepted=accepted,
            forward_seconds=1.0 + 0.1 * (texts + drafted), guessing_seconds=overhead, reads=False,
        )
    )  # fmt: skip


def test_guesses_that_are_accepted_are_made_by_all() -> None:
    budget = SharedBudget()
    for _ in range(20):
        used(budget, 4, drafted=0, accepted=0, overhead=0.0)
        used(budget, 4, drafted=8, accepted=6, overhead=0.01)
    assert budget.guessing(4) == 4


def test_guessing_that_takes_too_long_ends_and_is_tried_again_by_one() -> None:
    budget = SharedBudget()
    for _ in range(20):
        used(budget, 8, drafted=0, accepted=0, overhead=0.0)
        used(budget, 8, drafted=8, accepted=6, overhead=3.0)
    guessing = [budget.guessing(8) for _ in range(3 * TRIAL_EVERY)]
    assert set(guessing) == {0, 1}
    assert sum(guessing) == 3 * TRIAL_PASSES


def test_a_pass_that_reads_prompts_says_nothing_about_the_cost_of_guesses() -> None:
    budget = SharedBudget()
    budget.learn(PassRecord(4, 4, 8, 2, forward_seconds=9.0, guessing_seconds=0.1, reads=True))
    assert not budget.times.measured


def test_kept_times_that_make_no_sense_are_left_out() -> None:
    assert not SharedBudget({"8": -1.0}).times.measured
    assert SharedBudget({"8": 1.0}).times.measured
