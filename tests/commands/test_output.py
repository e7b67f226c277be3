"""Where the result goes and what is said beside it: --output, --quiet, --verbose, --color and --theme."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style

from lookahead_cli.decoding.loop import decode
from tests.commands.conftest import TEXT, Lookahead
from tests.commands.screens import LOOKAHEAD, PATIENCE, Screen
from tests.commands.test_generate import sentence
from tests.parrot import PROMPT, save_parrot

MARKS = re.compile(r"\x1b\[[0-9;]*m")


def test_a_file_gets_what_a_pipe_gets_and_the_screen_nothing(parrot: Lookahead, tmp_path: Path) -> None:
    outcome = parrot("-o", "said.txt")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, b"", "")
    assert (tmp_path / "said.txt").read_bytes() == TEXT.encode()
    assert parrot("-o", "-").stdout == TEXT.encode()
    assert not (tmp_path / "-").exists()


def test_a_file_is_overwritten_unless_it_is_to_be_added_to(parrot: Lookahead, tmp_path: Path) -> None:
    file = tmp_path / "said.txt"
    file.write_text("long before " * 200)
    parrot("--output", "said.txt")
    parrot("-o", "said.txt", "--append")
    assert file.read_bytes() == TEXT.encode() * 2
    parrot("-o", "said.jsonl", "--json")
    parrot("-o", "said.jsonl", "--json", "--append")
    objects = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert [each["text"] for each in objects] == [TEXT, TEXT]


def test_ctrl_c_leaves_the_text_so_far(parrot: Lookahead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_decode(*arguments: Any) -> Iterator[Any]:
        yield from islice(decode(*arguments), 1 + 3)
        assert (tmp_path / "said.txt").read_text(), "it is there as it is said"
        raise KeyboardInterrupt

    monkeypatch.setattr("lookahead_cli.session.decode", interrupted_decode)
    (tmp_path / "said.txt").write_text("before")
    assert parrot("-o", "said.txt", "-k", "4").code == 130
    said = (tmp_path / "said.txt").read_text()
    assert 0 < len(said) < len(TEXT)
    assert TEXT.startswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "."], "option --output: . cannot be written: it is a folder"),
        (["-o", "no/where.txt"], "option --output: no/where.txt cannot be written: there is no folder no"),
        (["-o", "plain/x.txt"], "option --output: plain/x.txt cannot be written: Not a directory"),
        (["-o", "x" * 300], "cannot be written: File name too long"),
        (["-o", ""], "option --output: . cannot be written"),
        (["--append"], "option --append: it adds to a file; name it with --output FILE"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "compare"])
def test_what_is_wrong_with_the_file_is_told_before_a_model_is_looked_for(
    lookahead: Lookahead, tmp_path: Path, command: str, arguments: list[str], said: str
) -> None:
    (tmp_path / "plain").write_text("a file")
    outcome = lookahead(command, "-p", "x", "-m", "./nowhere", *arguments)
    assert outcome.code == 2
    assert said in sentence(outcome.stderr)


def test_what_stands_in_the_file_stays_if_nothing_takes_its_place(lookahead: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("before")
    for file in ("kept.txt", "new.txt"):
        assert lookahead("generate", "-p", "x", "-m", "./nowhere", "-o", file).code == 2
    assert (tmp_path / "kept.txt").read_text() == "before"
    assert not (tmp_path / "new.txt").exists()


def test_a_full_disk_behind_the_file_is_one_sentence(parrot: Lookahead) -> None:
    outcome = parrot("-o", "/dev/full")
    assert outcome.code == 1
    assert sentence(outcome.stderr) == "/dev/full could not be written: No space left on device"


def test_a_comparison_goes_to_a_file_too(lookahead: Lookahead, parrot_folder: str, tmp_path: Path) -> None:
    asked = ["compare", "-m", parrot_folder, "--raw", "-n", "20"]
    outcome = lookahead(*asked, "-p", PROMPT, "-o", "compared.txt")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, b"", "")
    assert "identical: lookahead gave exactly the tokens of greedy" in (tmp_path / "compared.txt").read_text()
    (tmp_path / "prompts.txt").write_text("a\nb\n")
    assert lookahead(*asked, "--prompts", "prompts.txt", "--json", "-o", "compared.json").stdout == b""
    assert json.loads((tmp_path / "compared.json").read_text())["identical"]


def test_the_prompt_may_stand_behind_the_command_without_quotes(lookahead: Lookahead, llama_folder: str) -> None:
    asked = ["-m", llama_folder, "--raw", "-n", "5", "--json"]
    expected = json.loads(lookahead("generate", "-p", "hello you", *asked).stdout)
    for words in (["hello you"], ["hello", "you"]):
        found = json.loads(lookahead("generate", *words, *asked).stdout)
        assert (found["token_ids"], found["prompt_tokens"]) == (expected["token_ids"], expected["prompt_tokens"])
    assert lookahead("compare", "hello", "you", *asked).code == 0


def test_quiet_says_nothing_but_the_result(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("a\nb\n")
    model = ["-m", llama_folder, "-n", "3", "--dtype", "bfloat16", "--runner", "transformers"]
    for command in (["generate", "-p", "x"], ["compare", "-p", "x"], ["batch", "prompts.txt"],
                    ["bench", "--prompts", "prompts.txt"]):  # fmt: skip
        loud, quiet = lookahead(*command, *model), lookahead(*command, *model, "-q")
        assert "note: " in loud.stderr
        assert (quiet.code, quiet.stderr) == (0, "")
        assert quiet.stdout
    assert lookahead("generate", "-p", "x", "-m", "./nowhere", "-q").stderr, "but what is wrong is told"


def test_verbose_tells_where_the_model_lies_and_how_it_is_run(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "prompts.txt").write_text("a\n")
    model = ["-m", llama_folder, "-n", "3", "--dtype", "float32", "--verbose"]
    for command in (["generate", "-p", "x"], ["compare", "-p", "x"], ["batch", "prompts.txt"],
                    ["bench", "--prompts", "prompts.txt"], ["bench", "--step-times"]):  # fmt: skip
        said = lookahead(*command, *model).stderr
        assert f"note: {llama_folder}: 0 million parameters, lean runner, float32 on cpu, threads: " in said
        assert re.search(r"context of 128 tokens, ready after \d+\.\d s\n", said)


def test_color_always_colours_what_is_piped(parrot: Lookahead, lookahead: Lookahead, parrot_folder: str) -> None:
    said = parrot("--color", "always", "--strategy", "jacobi").text
    assert "\x1b[36m" in said
    assert MARKS.sub("", said).rstrip("\n") == TEXT.replace("\x1b", "␛")
    compared = lookahead("compare", "-m", parrot_folder, "--raw", "-p", PROMPT, "-n", "9", "--color", "always").text
    assert "\x1b[1;32midentical" in compared
    assert parrot("--color", "never").stdout == TEXT.encode()


@pytest.mark.parametrize(
    ("variables", "color"),
    [
        ({"TERM": "xterm-256color"}, "\x1b[38;5;166m"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "\x1b[38;2;213;94;0m"),
        ({"TERM": "xterm"}, "\x1b[4;31m"),
    ],
)
def test_a_theme_has_the_colours_of_the_terminal_that_a_pipe_ends_on(
    parrot: Lookahead, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], color: str
) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Style.parse.cache_clear()  # a style keeps the codes it was first given
    assert color in parrot("--color", "always", "--theme", "colorblind", "--strategy", "jacobi").text


def test_a_theme_that_is_not_there_is_told(parrot: Lookahead) -> None:
    assert "did you mean" in sentence(parrot("--theme", "colourblind").stderr)


@pytest.mark.slow
def test_a_pager_gets_colours_and_a_copy_may_be_kept(parrot_folder: str, env: dict[str, str], tmp_path: Path) -> None:
    command = " ".join([*LOOKAHEAD, "generate", "-m", parrot_folder, "--raw", "-p", PROMPT, "-n", "2000"])
    piped = f"{command} --color always --strategy jacobi | tee {tmp_path / 'copy'} | cat"
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", piped], env=env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert "\x1b[36m" in ended.stdout
    assert (tmp_path / "copy").read_text() == ended.stdout
    assert "accepted guesses: \x1b[36m■\x1b[0m jacobi" in ended.stderr


@pytest.mark.slow
def test_a_theme_without_colours_marks_guesses_where_colours_are_unwanted(
    parrot_folder: str, env: dict[str, str]
) -> None:
    asked = ["generate", "-m", parrot_folder, "--raw", "-p", PROMPT, "-n", "2000", "--theme", "mono"]
    screen = Screen(*asked, env={**env, "NO_COLOR": "1"})
    assert screen.wait_for_end() == 0
    assert "lookahead" not in screen.underlined_text()
    assert len(screen.underlined_text()) > 50
    assert {screen.color_at(row, column) for row in range(30) for column in range(120)} == {"default"}
    assert any("accepted guesses:" in row for row in screen.rows)


@pytest.mark.slow
def test_a_file_that_takes_long_has_a_bar_and_a_summary(env: dict[str, str], tmp_path: Path) -> None:
    long = str(save_parrot(tmp_path / "long", "the lookahead " * 200))
    asked = ["generate", "-m", long, "--raw", "-p", PROMPT, "-n", "300", "--strategy", "greedy"]
    screen = Screen(*asked, "-o", str(tmp_path / "said.txt"), env=env)
    screen.wait_for(r"of at most 300 tokens.*%")
    assert screen.wait_for_end() == 0
    assert (tmp_path / "said.txt").read_text().startswith("the lookahead the")
    shown = " ".join(screen.rows)
    assert "the lookahead" not in shown
    assert "of at most" not in shown, "the bar is gone"
    assert "300 tokens in 300 steps" in shown
    assert "accepted guesses" not in shown, "there is nothing coloured that this would explain"
    quiet = Screen(*asked, "-q", "-o", str(tmp_path / "said.txt"), env=env)
    assert quiet.wait_for_end() == 0
    assert quiet.rows == []
    in_json = Screen(*asked, "--json", env=env)
    in_json.wait_for(r"of at most 300 tokens.*%")
    in_json.wait_for(r'\{"text"')
