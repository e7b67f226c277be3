"""The help: a clear line and an example for everything, and examples that can be typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from lookahead_cli.commands.help_text import EXAMPLES, examples_of
from lookahead_cli.commands.misuse import Commands
from lookahead_cli.commands.options import resolve_options
from lookahead_cli.errors import EXIT_CODES
from tests.commands.conftest import Lookahead
from tests.commands.screens import LOOKAHEAD, terminal_environment
from tests.commands.test_generate import sentence
from tests.readme import commands, described, root
from tests.tiny_models import save_tiny_llama

LISTS = "bench"
"""Takes lists of values, which become settings one by one."""


def groups() -> Iterator[TyperGroup]:
    waiting = [root()]
    while waiting:
        group = waiting.pop()
        yield group
        waiting += [command for command in group.commands.values() if isinstance(command, TyperGroup)]


def arguments_of(line: str) -> list[str]:
    """What stands behind `lookahead` in a command line of the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word in ("|", ">"):
            parts.append([])
        else:
            parts[-1].append(word)
    return next(part[1:] for part in parts if part and part[0] == "lookahead")


def understood(arguments: list[str]) -> Any:
    """The context of a command line: it has been parsed, and its settings are allowed."""
    name = next(name for name in commands() if arguments[: len(name.split())] == name.split())
    context = commands()[name].make_context(name, arguments[len(name.split()) :])
    if name != LISTS:
        resolve_options(context.params)
    return context


@pytest.mark.parametrize("name", commands())
def test_every_option_has_one_clear_line_and_an_example_that_can_be_typed(name: str) -> None:
    for each in described(commands()[name]):
        assert re.fullmatch(r"[\w0-9-].*\.", each.line), f"{each.names}: {each.line!r} is no sentence"
        assert "[" not in each.line + each.example, f"{each.names}: square brackets are markup"
        assert each.example, f"{each.names} has no example"
        flags = [flag for flag in each.flags if flag.startswith("-")]
        assert not flags or set(flags) & set(shlex.split(each.example)), f"{each.names}: not in {each.example}"
        needed = " ".join(other.example for other in described(commands()[name]) if other.required and other != each)
        understood(arguments_of(f"lookahead {name} {needed} {each.example}"))


@pytest.mark.parametrize("name", commands())
def test_every_command_has_sentences_and_examples_that_can_be_typed(name: str) -> None:
    command = commands()[name]
    assert re.match(r"[A-Z][^\n]*[.?]", command.help)
    for paragraph in command.help.split("\n\n"):
        assert "\n" not in paragraph, "a paragraph is one line: terminals are of any width"
    examples = examples_of(command.callback)
    assert examples
    for line in examples:
        assert line in command.epilog
        assert arguments_of(line)[: len(name.split())] == name.split()
        understood(arguments_of(line))


def test_every_group_says_what_was_meant() -> None:
    for group in groups():
        assert isinstance(group, Commands)
        assert all(command.help for command in group.commands.values())


def test_every_command_stands_in_a_panel() -> None:
    for command in root().commands.values():
        assert command.rich_help_panel


def test_the_help_of_the_program_names_commands_and_exit_codes(lookahead: Lookahead) -> None:
    said = lookahead("--help")
    assert said.code == 0
    for name in root().commands:
        assert re.search(rf"│ {name} ", said.text)
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf" {code}  {re.escape(meaning)}", said.text)


def test_the_help_of_a_command_shows_lines_and_examples(lookahead: Lookahead) -> None:
    said = " ".join(lookahead("generate", "--help").text.replace("│", " ").split())
    assert "Sample from this many likeliest tokens. e.g. -t 0.8 --top-k 40" in said
    assert "[dim]" not in said
    assert f"{EXAMPLES} lookahead generate " in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["genrate", "hi"], 'there is no command "genrate"; did you mean "generate"?'),
        (["Name three rivers."], "to have that answered: lookahead generate 'Name three rivers.'"),
        (["help"], 'there is no command "help"; did you mean "--help"?'),
        (["pull", "owner/name"], 'there is no command "pull"; did you mean lookahead models pull?'),
        (["list"], 'there is no command "list"; did you mean lookahead profiles list or lookahead models list?'),
        (["models", "ls"], 'there is no command "ls"; did you mean "list"?'),
        (["models", "serve"], 'there is no command "serve"; there are list, pull, info, rm, path'),
        (["-p", "hi"], "there is no option -p before a command; did you mean lookahead generate -p ...?"),
        (["--model", "x", "generate"], "did you mean lookahead generate --model ...?"),
        (["--nonsense"], "there is no option --nonsense; see lookahead --help"),
        (["generate", "--temprature", "1"], 'there is no option --temprature; did you mean "--temperature"?'),
        (["generate", "--temp", "1"], 'there is no option --temp; did you mean "--temperature"?'),
        (["generate", "--max-tokens", "3"], 'did you mean "--max-new-tokens"?'),
        (["generate", "--with", "greedy"], "it is one of lookahead compare and lookahead bench"),
        (["generate", "-x"], "there is no option -x; see lookahead generate --help"),
        (["generate", "-p"], "option '-p' requires an argument; see --help"),
        (["bench", "prompts.jsonl"], "unexpected extra argument(s) (prompts.jsonl); see lookahead bench --help"),
        (["bench", "--limit", "none"], "invalid value for '--limit'"),
        (["generate", "one", "-p", "other"], "the prompt is there twice"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(lookahead: Lookahead, typed: list[str], said: str) -> None:
    outcome = lookahead(*typed)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert said in sentence(outcome.stderr)


def test_nothing_typed_shows_the_help(lookahead: Lookahead) -> None:
    outcome = lookahead()
    assert outcome.code == 2
    assert "Usage: lookahead" in outcome.text + outcome.stderr


@pytest.fixture(scope="module")
def place_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that examples name, and a `lookahead` that is this one."""
    place = tmp_path_factory.mktemp("examples")
    save_tiny_llama(place / "model", max_position_embeddings=4096)
    (place / "bin").mkdir()
    program = place / "bin" / "lookahead"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lookahead_cli "$@"\n')
    (place / "bin" / "jq").write_text("#!/bin/sh\ncat\n")
    for script in (place / "bin").iterdir():
        script.chmod(0o755)
    files = place / "files"
    (files / "notes").mkdir(parents=True)
    (files / "report.txt").write_text("All is well.\n")
    (files / "prompts.txt").write_text("Hello?\nWho are you?\n")
    (files / "prompts.jsonl").write_text('{"prompt": "Hello?", "category": "a"}\n{"prompt": "Why?", "category": "b"}\n')
    (files / "notes" / "roof.md").write_text("It leaks.\n")
    (files / "other.toml").write_text("[decoding]\nk = 4\n")
    made = ["generate", "-m", str(place / "model"), "-p", "hello", "-n", "8", "--trace", str(files / "steps.jsonl")]
    subprocess.run([*LOOKAHEAD, *made], env=terminal_environment(place), capture_output=True, check=True)
    return place


FETCHED = "smollm2-135m"
"""Examples that name it fetch or remove a model; tests of those commands have models of their own."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [line for command in commands().values() for line in examples_of(command.callback) if FETCHED not in line],
)
def test_examples_really_run(place_of_examples: Path, env: dict[str, str], tmp_path: Path, line: str) -> None:
    shutil.copytree(place_of_examples / "files", tmp_path / "here")
    env |= {
        "PATH": f"{place_of_examples / 'bin'}{os.pathsep}{env['PATH']}",
        "LOOKAHEAD_MODEL": str(place_of_examples / "model"),
        "LOOKAHEAD_MAX_NEW_TOKENS": "8",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=tmp_path / "here", env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_help_is_there_at_once(env: dict[str, str]) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "lookahead_cli", "--help"], env=env, capture_output=True, check=True)
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.4
