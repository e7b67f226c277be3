"""Lists of values crossed with contestants."""

from __future__ import annotations

import pytest

from lookahead_cli.bench.grid import crossed, crossed_entries, split_lists
from lookahead_cli.errors import ProfileError
from lookahead_cli.profile import Settings


def test_a_list_multiplies_those_it_makes_a_difference_to() -> None:
    assert crossed(["greedy", "lookahead", "prompt-lookup:k=2"], {"k": ["4", "auto"], "init": ["model", "random"]}) == [
        "greedy",
        "lookahead:k=4,init=model", "lookahead:k=4,init=random", "lookahead:k=auto,init=model",
        "lookahead:k=auto,init=random",
        "prompt-lookup:k=2",
    ]  # fmt: skip


def test_every_temperature_has_all_contestants_and_so_a_reference() -> None:
    names = ["greedy", "lookahead:drafters=copies", "jacobi:temperature=1"]
    assert crossed(names, {"k": ["4", "16"], "temperature": ["0", "0.7"]}) == [
        "greedy:temperature=0",
        "lookahead:drafters=copies,k=4,temperature=0", "lookahead:drafters=copies,k=16,temperature=0",
        "jacobi:temperature=1,k=4", "jacobi:temperature=1,k=16",
        "greedy:temperature=0.7",
        "lookahead:drafters=copies,k=4,temperature=0.7", "lookahead:drafters=copies,k=16,temperature=0.7",
    ]  # fmt: skip


def test_without_lists_everybody_stays_as_typed() -> None:
    assert crossed(["greedy", "jacobi:k=4"], {}) == ["greedy", "jacobi:k=4"]
    assert split_lists({"k": "16", "init": None, "temperature": "0, 0.7"}) == {"temperature": ["0", "0.7"]}


def test_entries_hold_the_values() -> None:
    entries = crossed_entries(["greedy", "jacobi"], {"k": ["2", "auto"]}, Settings())
    assert [(entry.name, entry.decoding.k) for entry in entries] == [
        ("greedy", "auto"), ("jacobi:k=2", 2), ("jacobi:k=auto", "auto"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "lists", "said"),
    [
        (["jacobi"], {"k": ["4", "0"]}, "option -k: 0 is not allowed"),
        (["jacobi"], {"k": ["4", ""]}, 'option -k: "" is not allowed'),
        (["jacobi"], {"init": ["model", "modle"]}, 'option --init: "modle" .*did you mean "model"'),
        (["jacobi"], {"temperature": ["0", "0.0"]}, "option --temperature: 0.0 is there twice"),
        (["greedy", "jacobi:k=4"], {"k": ["2", "4"]}, "option -k: a list makes no difference to greedy, jacobi:k=4"),
        (["jacobi", "jacobi"], {"k": ["2", "4"]}, "jacobi is there twice"),
        (["jaccobi"], {"k": ["2", "4"]}, '"jaccobi" is no strategy'),
    ],
)
def test_what_is_wrong_is_said_as_it_was_typed(names: list[str], lists: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ProfileError, match=said):
        crossed_entries(names, lists, Settings())
