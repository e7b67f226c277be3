"""What libraries log, warn of and write to stderr themselves: none of it is seen, unless somebody is debugging."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from lookahead_cli.library_messages import DEBUG_VARIABLE, UNHEARD, silence_libraries
from tests.commands.screens import terminal_environment
from tests.tiny_models import save_tiny_llama

NOISY = """
import logging, sys, warnings
from datetime import timedelta
from lookahead_cli import __main__
from lookahead_cli.commands import generate

quiet_run = generate.run

def run(*arguments):
    logging.getLogger("a.library").warning("NOISE without a handler")
    with_handler = logging.getLogger("another.library")
    with_handler.addHandler(logging.StreamHandler())
    with_handler.critical("NOISE with a handler")
    warnings.simplefilter("always")
    warnings.warn("NOISE of Python")
    warnings.warn("NOISE to come", DeprecationWarning)
    import torch
    torch.tensor([1 + 2j]).to(torch.float32)  # discards the imaginary part
    try:
        torch.distributed.TCPStore("127.0.0.1", 1, None, False, timeout=timedelta(milliseconds=1))  # C++ log
    except RuntimeError:
        pass
    from transformers.utils import logging as of_transformers
    of_transformers.get_logger("transformers.models").error("NOISE of transformers")
    return quiet_run(*arguments)

generate.run = run
__main__.main()
"""


def noise(folder: Path, tmp_path: Path, **variables: str) -> str:
    """What is on stderr after a run in which libraries say a lot."""
    asked = ["generate", "-m", str(folder), "-p", "hello", "-n", "3", "--runner", "transformers"]
    ended = subprocess.run(
        [sys.executable, "-W", "default", "-c", NOISY, *asked],
        env={**terminal_environment(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout
    return ended.stderr


@pytest.fixture(scope="module")
def doubtful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with settings that make transformers talk."""
    folder = save_tiny_llama(tmp_path_factory.mktemp("models") / "doubtful")
    for name, more in (
        ("generation_config.json", {"temperature": 0.5, "do_sample": False, "top_k": 3}),
        ("config.json", {"rope_scaling": None, "unheard_of": 3}),
    ):
        file = folder / name
        file.write_text(json.dumps({**json.loads(file.read_text()), **more}))
    return folder


@pytest.mark.slow
def test_nothing_that_libraries_say_is_seen(doubtful: Path, tmp_path: Path) -> None:
    assert noise(doubtful, tmp_path) == ""


@pytest.mark.slow
def test_everything_is_heard_while_debugging(doubtful: Path, tmp_path: Path) -> None:
    heard = noise(doubtful, tmp_path, **{DEBUG_VARIABLE: "1"})
    for part in ("without a handler", "with a handler", "of Python", "to come", "of transformers", "imaginary part",
                 "c10d"):  # fmt: skip
        assert part in heard


def test_libraries_are_silenced_whatever_levels_and_filters_they_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    for name in UNHEARD:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    try:
        silence_libraries()
        library = logging.getLogger("a.library.of.this.test")
        library.setLevel(logging.DEBUG)
        library.addHandler(logging.StreamHandler())
        library.critical("NOISE")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning("NOISE", UserWarning, "file", 1)
    finally:
        logging.disable(logging.NOTSET)
    assert capsys.readouterr().err == ""
    assert all(os.environ[name] == value for name, value in UNHEARD.items())
