"""`lookahead compare` in a real pseudo-terminal: what the screen shows while two race, and at the end."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from tests.commands.conftest import TEXT
from tests.commands.screens import Screen
from tests.parrot import PROMPT, save_parrot

EARLIER = [f"earlier line {number}" for number in range(1, 41)]
"""More than a screen holds."""
SHOWN = TEXT.replace("\x1b", "␛").replace("\t", " ")


@pytest.fixture(scope="module")
def long_parrot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that goes on for more than a screen."""
    return str(save_parrot(tmp_path_factory.mktemp("models") / "long", "the lookahead returned hello.\n" * 60))


def compare(model: str, *more: str) -> list[str]:
    return ["compare", "-m", model, "--raw", "-p", PROMPT, "-n", "2000", *more]


def started(*arguments: str, env: dict[str, str], columns: int, lines: int = 30) -> Screen:
    """A screen on which there was something already."""
    screen = Screen(*arguments, env=env, columns=columns, lines=lines)
    screen.show_before("\r\n".join([*EARLIER, ""]))
    return screen


def words(text: str) -> str:
    """What a text says, however it is wrapped."""
    return re.sub(r"\s+", "", text)


def panels(rows: list[str]) -> tuple[str, str]:
    """What stands inside the left and the right panel, the clocks included."""
    bodies = [re.fullmatch(r"│ (.*) │+ (.*) │", row) for row in rows if row.startswith("│")]
    assert all(bodies), rows
    return "\n".join(body[1] for body in bodies if body), "\n".join(body[2] for body in bodies if body)


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.slow
def test_two_panels_are_aligned_and_hold_both_texts(parrot_folder: str, env: dict[str, str], columns: int) -> None:
    screen = started(*compare(parrot_folder, "-k", "4"), env=env, columns=columns, lines=40)
    assert screen.wait_for_end() == 0
    rows = screen.all_rows
    assert rows[: len(EARLIER)] == EARLIER, "what stood there before is still there"
    shown = rows[len(EARLIER) :]
    top = next(place for place, row in enumerate(shown) if row.startswith("╭"))
    bottom = next(place for place, row in enumerate(shown) if row.startswith("╰"))
    assert top == 0, "nothing is left of the pictures of the race"
    assert shown[0].count("╭") == shown[bottom].count("╰") == 2
    assert "greedy" in shown[0]
    assert "lookahead" in shown[0]
    # The screen has an empty cell behind each wide character, so that every row is as wide as it looks.
    assert {cell_len(row) for row in shown[: bottom + 1]} == {columns}
    middle = columns // 2
    for row in shown[1:bottom]:
        cells = [character for character in row for _ in range(cell_len(character))]
        assert (cells[0], cells[middle - 1], cells[middle], cells[-1]) == ("│", "│", "│", "│")
    for text in panels(shown[1:bottom]):
        assert words(text).startswith(words(SHOWN))
        assert re.search(r"\d+ tokens +\d+ steps +\d+\.\d\d/step", text)
    below = " ".join(shown[bottom + 1 :])
    assert "identical: lookahead gave exactly the tokens of greedy" in below
    assert "times as fast" in below
    assert re.search(r"\d+ steps became \d+", below)
    assert "prefill apart" in below
    assert "the model's own █" in below


def test_a_narrow_terminal_gets_a_table_and_one_text(parrot_folder: str, env: dict[str, str]) -> None:
    screen = started(*compare(parrot_folder, "-k", "4"), env=env, columns=40)
    assert screen.wait_for_end() == 0
    rows = screen.all_rows
    assert rows[: len(EARLIER)] == EARLIER
    shown = rows[len(EARLIER) :]
    assert all(cell_len(row) <= 40 for row in shown)
    table = next(place for place, row in enumerate(shown) if row.lstrip().startswith("strategy"))
    assert words(" ".join(shown[:table])).removesuffix("tokenstokens") == words(SHOWN)
    assert any(re.fullmatch(r" greedy +1\.00 +[\d.]+ 1\.00x +same *", row) for row in shown)
    assert "identical: lookahead" in " ".join(shown)


@pytest.mark.slow
def test_the_narrowest_terminal_still_has_room_for_names(parrot_folder: str, env: dict[str, str]) -> None:
    screen = started(*compare(parrot_folder, "-k", "4"), env=env, columns=24)
    assert screen.wait_for_end() == 0
    shown = screen.all_rows[len(EARLIER) :]
    assert any(re.fullmatch(r" greedy +1\.00x +same *", row) for row in shown), shown
    assert "…" not in " ".join(shown)


@pytest.mark.slow
def test_more_than_two_share_one_text(parrot_folder: str, env: dict[str, str]) -> None:
    contest = ["--with", "greedy", "--with", "lookahead", "--with", "jacobi:k=4"]
    screen = started(*compare(parrot_folder, *contest), env=env, columns=100, lines=50)
    assert screen.wait_for_end() == 0
    shown = " ".join(screen.all_rows)
    assert "│" not in shown
    assert shown.count("the end.") == 1
    assert "identical: lookahead, jacobi:k=4 gave exactly the tokens of greedy" in shown


def test_accepted_guesses_are_coloured_while_it_goes_on(long_parrot: str, env: dict[str, str]) -> None:
    screen = started(*compare(long_parrot, "--strategy", "jacobi", "-k", "8"), env=env, columns=90)
    screen.wait_for("╭.*╮")
    for _ in range(10):
        screen.wait_for("╭.*╮")
    middle = 45
    right = {screen.color_at(row, column) for row in range(30) for column in range(middle, 90)}
    left = {screen.color_at(row, column) for row in range(30) for column in range(middle)}
    assert "cyan" in right
    assert left == {"default"}
    assert screen.wait_for_end() == 0


@pytest.mark.slow
def test_a_text_longer_than_the_screen_is_whole_at_the_end(long_parrot: str, env: dict[str, str]) -> None:
    screen = started(*compare(long_parrot, "-k", "8"), env=env, columns=80, lines=16)
    assert screen.wait_for_end() == 0
    rows = screen.all_rows
    assert rows[: len(EARLIER)] == EARLIER
    for text in panels([row for row in rows if row.startswith("│")]):
        assert text.count("the lookahead returned hello.") == 60


def test_without_colours_accepted_guesses_are_underlined(parrot_folder: str, env: dict[str, str]) -> None:
    asked = compare(parrot_folder, "--strategy", "jacobi", "-k", "4")
    screen = started(*asked, env={**env, "NO_COLOR": "1"}, columns=100, lines=40)
    assert screen.wait_for_end() == 0
    colors = {screen.color_at(row, column) for row in range(40) for column in range(100)}
    assert colors == {"default"}
    assert "jacobi" in screen.underlined_text(), "the bar says what underlining means"
    assert len(screen.underlined_text()) > 20


@pytest.mark.slow
def test_a_terminal_may_be_resized_meanwhile(long_parrot: str, env: dict[str, str]) -> None:
    screen = started(*compare(long_parrot), env=env, columns=100, lines=30)
    screen.wait_for("╭.*╮")
    screen.resize(70, 24)
    screen.wait_for("╭[^\r]*╮")
    screen.resize(44, 24)
    assert screen.wait_for_end() == 0
    rows = screen.all_rows
    # A screen that is made smaller loses lines at its top; that is the terminal's doing.
    assert rows[: len(EARLIER) - 30] == EARLIER[: len(EARLIER) - 30]
    assert "identical: lookahead" in " ".join(rows[-12:])
    assert "Traceback" not in " ".join(rows)


def test_ctrl_c_shows_what_has_been_said(long_parrot: str, env: dict[str, str]) -> None:
    screen = started(*compare(long_parrot), env=env, columns=80, lines=40)
    for _ in range(8):
        screen.wait_for("╭[^\r]*╮")
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    rows = screen.all_rows
    assert rows[: len(EARLIER)] == EARLIER
    for text in panels([row for row in rows if row.startswith("│")]):
        assert text.startswith("the lookahead returned hello.")
    assert "Traceback" not in " ".join(rows)
    assert any(row.startswith("identical: lookahead") for row in rows), "as far as both have come"
    assert any(row.startswith("note: interrupted") for row in rows), "the ^C that the terminal shows does not move it"


@pytest.mark.slow
def test_json_on_a_terminal_is_one_object(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*compare(parrot_folder, "--json"), env=env)
    screen.wait_for(r'\{"identical": true')
    screen.process.expect("\r\n")
    assert "\x1b" not in screen.process.before
