"""`lookahead models` in a real pseudo-terminal."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.screens import Screen
from tests.models.hub_server import Hub, tiny_hub
from tests.models.made_hub_cache import BERT, GPT2, LLAMA, put, whole_model


@pytest.fixture
def hub_cache(tmp_path: Path, env: dict[str, str]) -> Path:
    env["HF_HOME"] = str(tmp_path / "home")
    return tmp_path / "home" / "hub"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = tiny_hub(tmp_path)
    yield hub
    hub.close()


def test_list_is_a_table_with_remarks(hub_cache: Path, env: dict[str, str]) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    put(hub_cache, "owner/gpt", whole_model(GPT2))
    put(hub_cache, "owner/bert", whole_model(BERT))
    screen = Screen("models", "list", env=env, columns=140)
    assert screen.wait_for_end() == 0
    heading = screen.rows[0].split()
    assert heading == ["model", "size", "parameters", "architecture", "stored", "as", "runner", "strategies", "used",
                       "state"]  # fmt: skip
    lines = {row.split()[0]: row for row in screen.rows}
    assert re.search(r"LlamaForCausalLM +float16 +lean +all +- +ready", lines["owner/llama"])
    assert lines["smollm2-135m"].endswith("not fetched")
    assert "owner/bert" not in lines
    told = " ".join(screen.rows)
    assert "note: owner/gpt is not run by the lean runner, because it knows the model types" in told
    assert "and 1 that are no language models: --all" in told


@pytest.mark.slow
def test_info_shows_all_on_a_terminal_of_80_columns(llama_folder: str, env: dict[str, str]) -> None:
    screen = Screen("models", "info", llama_folder, env=env, columns=80)
    assert screen.wait_for_end() == 0
    assert any(re.match(r"architecture +LlamaForCausalLM", row) for row in screen.rows)
    assert any(re.match(r"runner +lean", row) for row in screen.rows)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("y", 0),
        ("\x03", 130),
        pytest.param("n", 1, marks=pytest.mark.slow),
        pytest.param("\x04", 1, marks=pytest.mark.slow),
    ],
)
def test_rm_asks(hub_cache: Path, env: dict[str, str], answer: str, code: int) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    screen = Screen("models", "rm", "owner/llama", env=env)
    screen.wait_for(r"Remove owner/llama \(\d+ bytes\)\? \[y/N\]: ")
    screen.process.send(answer if answer < " " else f"{answer}\n")
    assert screen.wait_for_end() == code
    assert (hub_cache / "models--owner--llama").exists() == (code != 0)
    assert ("642 bytes freed" if code == 0 else "nothing was removed") in screen.rows[-1]


@pytest.mark.slow
def test_pull_shows_a_bar_and_ctrl_c_leaves_at_once(hub: Hub, env: dict[str, str]) -> None:
    (hub.files / "model.safetensors").write_bytes(b"x" * 40_000_000)
    hub.pause = 0.02
    screen = Screen("models", "pull", "owner/tiny", env={**env, **hub.environment})
    screen.wait_for(r"downloading owner/tiny.*\d+%, \d+(\.\d)? [kM]B of 40 MB")
    time.sleep(0.5)
    before = time.monotonic()
    screen.process.kill(signal.SIGINT)
    assert screen.wait_for_end() == 130
    assert time.monotonic() - before < 5
    assert screen.rows == ["lookahead: interrupted: the same command goes on with the files that are not here yet"]
    assert list((hub.home / "hub").rglob("*.incomplete")) == []
