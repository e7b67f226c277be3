"""Running the command line inside the test process, with outputs and standard input of the test's own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lookahead_cli.program import run
from tests.commands.screens import terminal_environment
from tests.letters import save_letters
from tests.parrot import PROMPT, save_parrot
from tests.tiny_models import save_tiny_llama

TEXT = "Hello 😀 world! 日本語 and [red]brackets[/red] \x1b[31mred\x1b[0m\ttab\n" + "long line " * 30 + "\nthe end."


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()


class Terminal(io.TextIOWrapper):
    """Something that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


Lookahead = Callable[..., Outcome]


def written(stream: io.TextIOWrapper) -> bytes:
    """What has gone into a stream that ends in memory."""
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@pytest.fixture
def lookahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lookahead:
    """`lookahead("generate", "-p", "x", stdin=b"...")`; without `stdin` there is a terminal that nobody types on."""
    for name in list(os.environ):
        if name.startswith("LOOKAHEAD_") and name != "LOOKAHEAD_REHEARSE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user-config"))
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: bytes | None = None) -> Outcome:
        typed = Terminal(io.BytesIO()) if stdin is None else io.TextIOWrapper(io.BytesIO(stdin))
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["lookahead", *arguments])
            patch.setattr(sys, "stdin", typed)
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", stderr)
            code = run()
        return Outcome(code, written(stdout), written(stderr).decode())

    return invoke


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a program in a pseudo-terminal, or of one of its own."""
    return terminal_environment(tmp_path)


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random Llama with tokenizer and chat template."""
    return str(save_tiny_llama(tmp_path_factory.mktemp("models") / "llama"))


@pytest.fixture(scope="session")
def letters_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random model that says letters."""
    return str(save_letters(tmp_path_factory.mktemp("models") / "letters"))


@pytest.fixture(scope="session")
def parrot_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that says TEXT."""
    return str(save_parrot(tmp_path_factory.mktemp("models") / "parrot", TEXT))


@pytest.fixture
def parrot(lookahead: Lookahead, parrot_folder: str) -> Lookahead:
    """`lookahead generate` on the model that says TEXT."""

    def generate(*arguments: str) -> Outcome:
        return lookahead("generate", "-m", parrot_folder, "--raw", "-p", PROMPT, "-n", "2000", *arguments)

    return generate
