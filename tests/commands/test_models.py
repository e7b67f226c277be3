"""`lookahead models`: what it prints, refuses and leaves behind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookahead_cli.commands.options import complete_models
from lookahead_cli.models.packaged import SMOLLM2_135M, packaged_entry
from tests.commands.conftest import Lookahead
from tests.models.hub_server import Hub, tiny_hub, use_hub
from tests.models.made_hub_cache import BERT, GPT2, LLAMA, put, use_cache, whole_model
from tests.models.test_listing import make_entry
from tests.tiny_models import write_tiny_gguf


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_cache(tmp_path / "hub", monkeypatch)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = tiny_hub(tmp_path)
    use_hub(hub, monkeypatch)
    yield hub
    hub.close()


def test_list_is_a_line_each_in_a_pipe_with_the_name_first(lookahead: Lookahead, hub_cache: Path) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    put(hub_cache, "owner/bert", whole_model(BERT))
    outcome = lookahead("models", "list")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert [line.split("\t") for line in outcome.text.splitlines()] == [
        ["smollm2-135m", "-", "-", "-", "-", "-", "-", "-", "not fetched"],
        ["owner/llama", "602 bytes", "84", "LlamaForCausalLM", "float16", "lean", "all", "-", "ready"],
    ]
    everything = lookahead("models", "list", "--all").text.splitlines()
    assert everything[1].split("\t")[0] == "owner/bert"
    assert everything[1].endswith("no language model")


def test_list_as_json(lookahead: Lookahead, hub_cache: Path) -> None:
    folder = put(hub_cache, "owner/gpt", whole_model(GPT2))
    packaged, gpt = json.loads(lookahead("models", "list", "--json").text)
    assert (packaged["name"], packaged["state"], packaged["folder"]) == ("smollm2-135m", "not fetched", None)
    assert (gpt["name"], gpt["folder"], gpt["parameters"], gpt["stored_dtypes"]) == (
        "owner/gpt", str(folder), 84, ["float16", "float32"],
    )  # fmt: skip
    assert gpt["plan"]["runner"] == "transformers"
    assert "gpt2" in gpt["plan"]["why_not_lean"]


def test_pull_fetches_says_where_and_asks_nobody_the_second_time(lookahead: Lookahead, hub: Hub) -> None:
    outcome = lookahead("models", "pull", "owner/tiny")
    assert (outcome.code, outcome.stderr) == (0, ""), "in a pipe there is one line, at the end"
    match = re.fullmatch(r"owner/tiny is ready: (.+)\n", outcome.text)
    assert match is not None
    assert (Path(match[1]) / "model.safetensors").is_file()
    hub.requests.clear()
    assert lookahead("models", "pull", "owner/tiny").text == f"owner/tiny is here already: {match[1]}\n"
    assert lookahead("models", "path", "owner/tiny").text == f"{match[1]}\n"
    assert hub.requests == []


def test_pull_tells_of_weights_that_arrived_damaged(lookahead: Lookahead, hub: Hub) -> None:
    (hub.files / "model.safetensors").write_bytes(b"x" * 100)
    outcome = lookahead("models", "pull", "owner/tiny")
    assert (outcome.code, outcome.text) == (2, "")
    assert "model.safetensors is damaged or cut short" in outcome.stderr


def test_pull_goes_on_with_what_is_missing(lookahead: Lookahead, hub: Hub) -> None:
    hub.fail_on = "tokenizer.json"
    assert lookahead("models", "info", "owner/tiny").code == 1
    hub.fail_on = ""
    hub.requests.clear()
    assert lookahead("models", "pull", "owner/tiny").code == 0
    assert hub.downloaded() == {"tokenizer.json", "model.safetensors"}


def test_pull_takes_a_revision_of_the_hub_only(lookahead: Lookahead, hub: Hub, llama_folder: str) -> None:
    outcome = lookahead("models", "pull", "owner/tiny", "--revision", "v9")
    assert (outcome.code, "owner/tiny has no revision v9" in outcome.stderr) == (2, True)
    outcome = lookahead("models", "pull", llama_folder, "--revision", "v9")
    assert (outcome.code, "--revision goes with a hub id" in outcome.stderr) == (2, True)


def test_pull_takes_risks_only_where_the_profile_does(lookahead: Lookahead, hub: Hub, tmp_path: Path) -> None:
    (hub.files / "model.safetensors").unlink()
    outcome = lookahead("models", "pull", "owner/tiny")
    assert (outcome.code, 'allow = ["pickle"]' in outcome.stderr) == (2, True)
    (tmp_path / "risk.toml").write_text('[model]\nallow = ["pickle"]\n')
    assert lookahead("models", "pull", "owner/tiny", "--profile", str(tmp_path / "risk.toml")).code == 0


def test_pull_of_a_folder_has_nothing_to_do(lookahead: Lookahead, llama_folder: str) -> None:
    outcome = lookahead("models", "pull", llama_folder)
    assert (outcome.code, "there is nothing to fetch" in outcome.text) == (0, True)


def test_pull_converts_a_gguf_file_and_list_knows_it_by_name(
    lookahead: Lookahead, tmp_path: Path, hub_cache: Path
) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf")
    assert lookahead("models", "path", str(file)).code == 2
    assert f"{file} is ready: {tmp_path}/cache/models/gguf-" in lookahead("models", "pull", str(file)).text
    assert lookahead("models", "path", "tiny.gguf").code == 0
    names = [line.split("\t")[0] for line in lookahead("models", "list").text.splitlines()]
    assert names == ["smollm2-135m", str(file)]


def test_info_says_what_a_model_is(lookahead: Lookahead, llama_folder: str) -> None:
    outcome = lookahead("models", "info", llama_folder)
    assert (outcome.code, outcome.stderr) == (0, "")
    for line in (
        f"source: {llama_folder} (a folder)",
        f"folder: {llama_folder}",
        "architecture: LlamaForCausalLM",
        "shape: 2 layers, width 32, 4 heads, 2 for keys and values",
        "context: 128 tokens",
        "stored as: float32",
        "chat template: yes",
        "ends with: <|im_end|> (2)",
        "runner: lean",
        "strategies: all",
    ):
        assert line in outcome.text.splitlines()
    told = json.loads(lookahead("models", "info", llama_folder, "--json").text)
    assert (told["kind"], told["layers"], told["stored_dtypes"]) == ("folder", 2, ["float32"])
    assert told["end_tokens"] == [{"id": 2, "text": "<|im_end|>"}]
    assert told["plan"]["runner"] == "lean"
    assert told["needs"]["context_bytes"] > 0


def test_info_follows_the_settings(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.toml").write_text('[model]\nrunner = "transformers"\ndtype = "float16"\n')
    told = json.loads(lookahead("models", "info", llama_folder, "--json", "--profile", "./other.toml").text)
    assert (told["plan"]["runner"], told["needs"]["dtype"]) == ("transformers", "float16")


def test_info_without_the_network_is_one_sentence(lookahead: Lookahead, hub_cache: Path) -> None:
    outcome = lookahead("models", "info", "owner/none")
    assert (outcome.code, outcome.text, outcome.stderr.count("\n")) == (1, "", 1)
    assert "HF_HUB_OFFLINE forbids the download" in outcome.stderr


def test_rm_asks_first_and_needs_yes_where_nobody_can_be_asked(
    lookahead: Lookahead, tmp_path: Path, hub_cache: Path
) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    folder = hub_cache / "models--owner--llama"
    outcome = lookahead("models", "rm", "owner/llama", stdin=b"y\n")
    assert (outcome.code, "give --yes" in outcome.stderr, folder.exists()) == (2, True, True)
    outcome = lookahead("models", "rm", "owner/llama", "--yes", stdin=b"")
    assert (outcome.code, folder.exists()) == (0, False)
    assert outcome.text == "owner/llama is removed, 642 bytes freed\n"


def test_what_was_pulled_is_listed_and_removed_without_a_trace(lookahead: Lookahead, hub: Hub) -> None:
    lookahead("models", "pull", "owner/tiny")
    line = lookahead("models", "list").text.splitlines()[1].split("\t")
    assert (line[0], line[3], line[-1]) == ("owner/tiny", "LlamaForCausalLM", "ready")
    assert lookahead("models", "rm", "owner/tiny", "--yes").code == 0
    assert [path.name for path in (hub.home / "hub").iterdir() if path.name.startswith("models--")] == []
    assert lookahead("models", "list").text.count("\n") == 1
    outcome = lookahead("models", "rm", "owner/tiny", "--yes")
    assert (outcome.code, "nothing of owner/tiny is in the hub's cache" in outcome.stderr) == (2, True)


def test_rm_deletes_nothing_if_one_of_the_names_is_wrong(
    lookahead: Lookahead, hub_cache: Path, llama_folder: str
) -> None:
    make_entry(packaged_entry(SMOLLM2_135M))
    outcome = lookahead("models", "rm", "smollm2-135m", llama_folder, "--yes")
    assert (outcome.code, "a folder of your own" in outcome.stderr) == (2, True)
    assert packaged_entry(SMOLLM2_135M).is_dir()
    assert Path(llama_folder).is_dir()


def test_path_is_the_cache_folder_or_that_of_a_model_that_is_here(
    lookahead: Lookahead, tmp_path: Path, hub_cache: Path
) -> None:
    assert lookahead("models", "path").text == f"{tmp_path / 'cache'}\n"
    outcome = lookahead("models", "path", "smollm2-135m")
    assert (outcome.code, outcome.text) == (2, "")
    assert "not ready on this machine: `lookahead models pull smollm2-135m` sees to it" in outcome.stderr
    make_entry(packaged_entry(SMOLLM2_135M))
    assert lookahead("models", "path", "smollm2-135m").text == f"{packaged_entry(SMOLLM2_135M)}\n"


@pytest.mark.parametrize("command", ["pull", "info", "rm", "path"])
def test_unknown_names_are_told_as_everywhere(lookahead: Lookahead, command: str) -> None:
    outcome = lookahead("models", command, "smollm2")
    assert outcome.code == 2
    assert "did you mean smollm2-135m?" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_names_are_completed_by_the_names_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub_cache: Path
) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(hub_cache))
    monkeypatch.chdir(tmp_path)
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    (tmp_path / "cache").mkdir()
    file = tmp_path / "some.gguf"
    file.touch()
    (tmp_path / "cache" / "gguf-checksums.json").write_text(json.dumps({str(file): [], "/gone.gguf": []}))
    assert complete_models("") == ["smollm2-135m", "owner/llama", str(file)]
    assert complete_models("own") == ["owner/llama"]
    assert complete_models("./") == ["./cache/", "./hub/", "./some.gguf"]
    assert complete_models("./so") == ["./some.gguf"]


def test_completion_loads_nothing_large() -> None:
    code = "import sys; from lookahead_cli.commands.options import complete_models as c; c(''); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "huggingface_hub", "numpy"} & set(loaded)
