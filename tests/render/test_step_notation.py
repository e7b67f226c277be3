"""A step as signs: every guess is there or counted, and lines are as wide as they may be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lookahead_cli.decoding.draft import ROOT, Draft
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.render.step_notation import (
    MOST_CELLS,
    NO_SIGNS,
    SIGNS,
    Piece,
    Role,
    fitted_pieces,
    laid_out,
    pieces,
    shortened,
)
from tests.made_steps import step_of, steps

WORDS = {1: " quick", 2: " red", 3: " brown", 4: " lazy", 5: " dog", 6: " ran\n", 7: " sat", 8: "日本", 9: " fox"}


def word(token: int) -> str:
    return WORDS[token]


def number(token: int) -> str:
    return str(token)


def line(parts: Sequence[Piece]) -> str:
    """The pieces as they stand on a line, without the drafters."""
    text = "".join(" " * piece.apart + piece.lead + piece.text + piece.tail for piece in parts)
    return re.sub(r" \([a-z-]+ \d+/\d+.*\)$", "", text).strip()


def of_copies(tokens: tuple[int, ...], parents: tuple[int, ...]) -> Draft:
    return Draft(tokens, parents, ("copies",) * len(tokens))


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (step_of(Draft(), (), own=9), "+␣fox"),
        (step_of(of_copies((1, 3, 9), (-1, 0, 1)), (0, 1, 2), own=7), "✓␣quick ✓␣brown ✓␣fox +␣sat"),
        (step_of(Draft.chain((1, 3, 4, 5), "jacobi"), (0, 1), own=9), "✓␣quick ✓␣brown +␣fox{✗␣lazy·␣dog}"),
        (step_of(Draft.chain((1, 3), "jacobi"), (), own=9), "+␣fox{✗␣quick·␣brown}"),
        (
            step_of(of_copies((1, 2, 3, 4, 5, 6, 7, 8), (-1, -1, 0, 0, 2, 4, 4, 1)), (0, 2), own=9),
            "✓␣quick{✗␣red·日本} ✓␣brown{✗␣lazy} +␣fox{✗␣dog·(␣ran⏎│␣sat)}",
        ),
        (
            step_of(of_copies((1, 2, 3, 4), (-1, -1, 0, 2)), (0,), own=None),
            "✓␣quick{✗␣red} (2 behind the end)",
        ),
    ],
    ids=["nothing guessed", "all right", "window", "all wrong", "tree", "end of the text"],
)  # fmt: skip
def test_wrong_guesses_stand_at_the_place_of_the_token_that_came(step: StepEvent, shown: str) -> None:
    assert line(pieces(step, word, SIGNS, 100)) == shown


def test_without_signs_the_roles_tell_tokens_apart() -> None:
    step = step_of(of_copies((1, 2, 3), (-1, -1, 0)), (0,), own=9)
    parts = pieces(step, word, NO_SIGNS, 100)
    assert line(parts) == "␣quick{␣red} ␣fox{␣brown}"
    assert [part.role for part in parts[:4]] == [Role.ACCEPTED, Role.REJECTED, Role.BONUS, Role.REJECTED]


def test_the_drafters_are_named_with_what_they_guessed_and_what_was_right() -> None:
    draft = Draft((1, 2, 3), (-1, -1, 0), ("copies", "window", "copies"))
    parts = pieces(step_of(draft, (0,), own=9), word, SIGNS, 0)
    assert [part.lead + part.text for part in parts[-3:]] == ["…and 2 more", "(copies 1/2,", "window 0/1)"]


def test_what_has_no_room_is_counted() -> None:
    step = step_of(of_copies(tuple(range(1, 9)), (-1,) * 8), (2,), own=9)
    assert line(pieces(step, word, SIGNS, 3)) == "✓␣brown{✗␣quick│✗␣red│✗␣lazy} +␣fox …and 4 more"


@given(step=steps(), cells=st.integers(20, 120), signs=st.sampled_from([SIGNS, NO_SIGNS]))
def test_every_guess_is_shown_or_counted(step: StepEvent, cells: int, signs: dict[Role, str]) -> None:
    parts = fitted_pieces(step, number, signs, cells)
    shown = {role: [part.text for part in parts if part.role is role] for role in Role}
    assert shown[Role.ACCEPTED] == [str(token) for token in step.token_ids[: len(step.path)]]
    assert shown[Role.BONUS] == [str(token) for token in step.token_ids[len(step.path) :]]
    notes = " ".join(shown[Role.ASIDE])
    more = re.search(r"…and (\d+) more", notes)
    behind = re.search(r"\((\d+) behind the end\)", notes)
    counted = sum(int(found[1]) for found in (more, behind) if found)
    assert len(step.path) + len(shown[Role.REJECTED]) + counted == len(step.draft)
    assert set(shown[Role.REJECTED]) <= {str(step.draft.tokens[node]) for node in step.rejected}


@given(step=steps())
def test_every_wrong_turn_has_its_sign_and_braces_are_closed(step: StepEvent) -> None:
    text = line(pieces(step, number, SIGNS, 100))
    assert (text.count("{"), text.count("(")) == (text.count("}"), text.count(")"))
    assert text.count("✗") == sum(step.draft.parents[node] in (ROOT, *step.path) for node in step.rejected)


@given(step=steps(), cells=st.integers(20, 120), labels=st.lists(st.text(min_size=1), min_size=30, max_size=30))
def test_lines_are_no_wider_than_they_may_be_and_hold_no_control_character(
    step: StepEvent, cells: int, labels: list[str]
) -> None:
    def label(token: int) -> str:
        return labels[token % len(labels)]

    parts = fitted_pieces(step, label, SIGNS, cells)
    lines = laid_out(parts, cells)
    assert [part for parts_of_line in lines for part in parts_of_line] == parts
    for parts_of_line in lines:
        text = "".join(
            " " * (part.apart and place > 0) + part.lead + part.text + part.tail
            for place, part in enumerate(parts_of_line)
        )
        assert cell_len(text) <= cells or len(parts_of_line) == 1
        assert not {unicodedata.category(character) for character in text} & {"Cc", "Cs", "Cf", "Zl", "Zp"}


@given(text=st.text(min_size=1), cells=st.integers(4, MOST_CELLS))
def test_tokens_are_cut_to_a_width(text: str, cells: int) -> None:
    assert cell_len(shortened(text, cells)) <= cells


def test_rejected_guesses_fill_the_line_and_always_get_some_of_it() -> None:
    draft = of_copies(tuple(range(10, 74)), (-1,) * 64)
    wide = fitted_pieces(step_of(draft, (), own=9), number, SIGNS, 100)
    assert 60 <= sum(part.cells + part.apart for part in wide) <= 100
    long_path = Draft.chain(range(100, 140), "copies")
    wrong = Draft((*long_path.tokens, 10, 11), (*long_path.parents, ROOT, 0), ("copies",) * 42)
    crowded = fitted_pieces(step_of(wrong, tuple(range(40)), own=9), number, SIGNS, 60)
    assert [part.text for part in crowded if part.role is Role.REJECTED] == ["10", "11"]


def test_a_window_of_a_thousand_guesses_is_shown() -> None:
    step = step_of(Draft.chain(range(1000, 2000), "jacobi"), (), own=9)
    text = line(fitted_pieces(step, number, SIGNS, 80))
    assert text.startswith("+9{✗1000·1001·")
    assert re.search(r"…and 9\d\d more", text)
    assert len(pieces(step, number, SIGNS, 1000)) == 1000 + 2
