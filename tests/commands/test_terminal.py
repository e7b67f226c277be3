"""`lookahead generate` in a real pseudo-terminal: what the screen shows."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

from tests.commands.conftest import TEXT
from tests.commands.screens import COLUMNS, LINES, LOOKAHEAD, PATIENCE, Screen
from tests.parrot import PROMPT, save_parrot


def generate(model: str, *more: str) -> list[str]:
    return ["generate", "-m", model, "--raw", "-p", PROMPT, "-n", "2000", *more]


def test_text_streams_whole_with_colours_legend_and_summary(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "-k", "8", "--strategy", "jacobi"), env=env)
    assert screen.wait_for_end() == 0
    first, second, third = TEXT.replace("\x1b", "␛").split("\n")
    before_tab, after_tab = first.split("\t")
    # The screen is wider than the first line and shows a wide character in two cells, the second one empty.
    assert screen.rows[0].startswith(before_tab)
    assert screen.rows[0].endswith(" " + after_tab)
    wrapped = len(second) // COLUMNS + 1
    assert "".join(row.ljust(COLUMNS) for row in screen.rows[1 : 1 + wrapped]).rstrip() == second.rstrip()
    assert third in screen.rows
    assert "�" not in "".join(screen.rows)
    assert any("accepted guesses: ■ jacobi · ■ the model's own token" in row for row in screen.rows)
    tail = " ".join(screen.rows[-5:])
    for part in ("tokens in", "steps", "tokens per step", "guesses accepted", "decode", "first token after",
                 "the model ended the text"):  # fmt: skip
        assert part in tail
    # The first token is always the model's own; the steps say which of the others are.
    assert screen.color_at(0, 0) == "default"
    asked = [*LOOKAHEAD, *generate(parrot_folder, "-k", "8", "--strategy", "jacobi", "--json")]
    output = subprocess.run(asked, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    result = json.loads(output)
    first_step_with_guesses = next(step for step in result["steps"] if "jacobi" in step["provenance"])
    before = result["steps"].index(first_step_with_guesses)
    assert [screen.color_at(0, column) for column in range(before)] == ["default"] * before
    assert screen.color_at(0, before) == "cyan"


def test_no_color_is_honoured(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder), env={**env, "NO_COLOR": "1"})
    assert screen.wait_for_end() == 0
    assert {screen.color_at(row, column) for row in range(LINES) for column in range(COLUMNS)} == {"default"}
    assert not any("accepted guesses:" in row for row in screen.rows), "a legend of colours that are not there"
    assert any("tokens per step" in row for row in screen.rows)


def test_no_stats_leaves_the_text_alone(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "--no-stats"), env=env)
    assert screen.wait_for_end() == 0
    assert screen.rows[-1] == "the end."


@pytest.mark.slow
def test_json_on_a_terminal_sends_no_control_characters(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder, "--json"), env=env)
    screen.wait_for(r'\{"text"')
    screen.process.expect(pexpect.EOF)
    assert "\x1b" not in screen.process.before
    assert "\\u001b[31m" in screen.process.before


@pytest.fixture(scope="module")
def long_parrot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that goes on for some seconds when decoded greedily."""
    return str(save_parrot(tmp_path_factory.mktemp("models") / "long", "the lookahead " * 600))


def test_ctrl_c_keeps_the_text_and_says_so(long_parrot: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(long_parrot, "--strategy", "greedy"), env=env)
    screen.wait_for("the lookahead the lookahead")
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    assert screen.rows[0].startswith("the lookahead the lookahead")
    tail = " ".join(screen.rows[-4:])
    assert "interrupted" in tail
    assert "tokens per step" in tail
    assert "Traceback" not in "".join(screen.rows)


def test_ctrl_c_while_loading_says_interrupted(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen(*generate(parrot_folder), env=env)
    screen.wait_for("loading torch")
    screen.process.sendintr()
    assert screen.wait_for_end() == 130
    assert "interrupted" in " ".join(screen.rows)
    assert "Traceback" not in "".join(screen.rows)


@pytest.mark.slow
def test_a_reader_that_leaves_early_causes_no_complaint(long_parrot: str, env: dict[str, str]) -> None:
    command = " ".join([*LOOKAHEAD, *generate(long_parrot), "| head -c 20"])
    ended = subprocess.run(["bash", "-c", command], env=env, capture_output=True, timeout=PATIENCE, check=True)
    assert ended.stdout == b"the lookahead the lo"
    assert ended.stderr == b""


def test_a_reader_that_leaves_ends_the_program_as_shells_expect(long_parrot: str, env: dict[str, str]) -> None:
    command = " ".join([*LOOKAHEAD, *generate(long_parrot), "| head -c 1; echo ${PIPESTATUS[0]}"])
    ended = subprocess.run(
        ["bash", "-c", command], env=env, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert ended.stdout == "t141\n"


@pytest.mark.slow
def test_notes_that_nobody_can_read_do_not_cost_the_text(parrot_folder: str, env: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*LOOKAHEAD, *generate(parrot_folder, "--dtype", "bfloat16")], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE, check=True,
        )  # fmt: skip
    assert ended.stdout == TEXT.encode()


def test_standard_input_that_cannot_be_read_is_none(parrot_folder: str, env: dict[str, str]) -> None:
    with Path("/dev/null").open("w") as not_for_reading:
        ended = subprocess.run(
            [*LOOKAHEAD, *generate(parrot_folder)], env=env, stdin=not_for_reading, capture_output=True,
            timeout=PATIENCE, check=True,
        )  # fmt: skip
    assert ended.stdout == TEXT.encode()


@pytest.mark.parametrize("moment", [0.05, 0.15, 0.4])
def test_ctrl_c_before_the_program_is_awake_leaves_no_traceback(
    parrot_folder: str, env: dict[str, str], moment: float
) -> None:
    process = subprocess.Popen(
        [*LOOKAHEAD, *generate(parrot_folder)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert b"lookahead_cli" not in stderr, "no traceback through our files"
    assert process.returncode in (130, -signal.SIGINT, 1)


@pytest.mark.slow
def test_a_full_disk_behind_the_output_is_one_sentence(parrot_folder: str, env: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*LOOKAHEAD, *generate(parrot_folder)], env=env, stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr == "lookahead: the output could not be written: No space left on device\n"


@pytest.mark.slow
def test_a_pipe_gets_utf_8_whatever_the_locale(parrot_folder: str, env: dict[str, str]) -> None:
    ended = subprocess.run(
        [*LOOKAHEAD, *generate(parrot_folder)], env={**env, "PYTHONIOENCODING": "latin-1"}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert ended.stdout == TEXT.encode()


def test_no_prompt_on_a_terminal_is_one_sentence(parrot_folder: str, env: dict[str, str]) -> None:
    screen = Screen("generate", "-m", parrot_folder, env=env)
    assert screen.wait_for_end() == 2
    assert re.match("lookahead: there is no prompt: give --prompt", screen.rows[0])
