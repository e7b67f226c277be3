"""Which contestants make a curve."""

from __future__ import annotations

from lookahead_cli.bench.curves import curves, without_k
from lookahead_cli.bench.entries import read_entries
from lookahead_cli.bench.tally import speed_ups, standings
from lookahead_cli.decoding.statistics import Statistics
from lookahead_cli.profile import Settings
from tests.bench.made_runs import made_run


def test_contestants_that_differ_in_k_alone_make_one_curve() -> None:
    names = [
        "greedy", "lookahead:k=16", "lookahead:k=4", "lookahead:k=auto", "jacobi:k=4,init=model", "transformers",
    ]  # fmt: skip
    runs = [made_run(name, steps=4, drafted=0 if name in ("greedy", "transformers") else 8) for name in names]
    references = dict.fromkeys(names, "greedy")
    found = curves(read_entries(names, Settings()), references, standings(runs), speed_ups(runs, references))
    assert [curve.label for curve in found] == ["lookahead", "jacobi:init=model", "transformers"]
    lookahead, jacobi, transformers = found
    assert [point.guesses for point in lookahead.fixed] == [4, 16]
    assert lookahead.auto is not None
    assert lookahead.auto.guesses == 2.0, "what it drafted per step"
    assert (len(jacobi.fixed), jacobi.auto, jacobi.level) == (1, None, None)
    assert transformers.level is not None
    assert transformers.most_telling is transformers.level


def test_a_run_that_cannot_be_compared_is_no_point() -> None:
    names = ["greedy", "lookahead:k=4"]
    runs = [made_run("greedy"), made_run("lookahead:k=4", tokens=0, steps=0, seconds=0.0)]
    references = dict.fromkeys(names, "greedy")
    assert curves(read_entries(names, Settings()), references, standings(runs), speed_ups(runs, references)) == []


def test_names_without_k() -> None:
    assert without_k("lookahead:k=4") == "lookahead"
    assert without_k("lookahead:drafters=copies, k = 4,init=model") == "lookahead:drafters=copies,init=model"


def test_depths_tested_too_rarely_say_nothing() -> None:
    from lookahead_cli.bench.curves import reliable_acceptance

    assert reliable_acceptance(Statistics(tested_at=[10, 8, 2], accepted_at=[8, 2, 2])) == [0.8, 0.25]
