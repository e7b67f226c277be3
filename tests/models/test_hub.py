"""Hub models against a server on this machine that answers as the hub does; each look-up in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.hub_server import Hub, tiny_hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = tiny_hub(tmp_path)
    yield hub
    hub.close()


def test_first_use_downloads_what_is_needed_and_the_next_asks_nobody(hub: Hub) -> None:
    found = hub.locate()
    folder = Path(found["folder"])
    assert sorted(file.name for file in folder.iterdir()) == [
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert ["downloading owner/tiny", 1.0] in found["progress"]
    assert hub.locate()["folder"] == str(folder)
    assert hub.requests == []


def test_interrupted_download_is_completed_later(hub: Hub) -> None:
    hub.fail_on = "model.safetensors"
    assert hub.locate()["error"] == "ResourceError"
    hub.fail_on = ""
    assert (Path(hub.locate()["folder"]) / "model.safetensors").is_file()
    assert hub.downloaded() == {"model.safetensors"}


def test_pickle_is_refused_before_it_is_downloaded(hub: Hub) -> None:
    (hub.files / "model.safetensors").unlink()
    found = hub.locate()
    assert found["error"] == "ModelError"
    assert 'allow = ["pickle"]' in found["said"]
    assert "pytorch_model.bin" not in hub.downloaded()
    assert (Path(hub.locate("owner/tiny", "", "pickle")["folder"]) / "pytorch_model.bin").is_file()


def test_remote_code_is_refused_before_the_weights_are_downloaded(hub: Hub) -> None:
    config = json.loads((hub.files / "config.json").read_text())
    (hub.files / "config.json").write_text(
        json.dumps({**config, "model_type": "own", "auto_map": {"AutoModel": "evil.Model"}})
    )
    found = hub.locate()
    assert found["error"] == "ModelError"
    assert 'allow = ["remote-code"]' in found["said"]
    assert not {"model.safetensors", "evil.py"} & hub.downloaded()
    assert (Path(hub.locate("owner/tiny", "", "remote-code")["folder"]) / "evil.py").is_file()


def test_code_allowed_later_is_fetched_then(hub: Hub) -> None:
    config = json.loads((hub.files / "config.json").read_text())
    (hub.files / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "evil.Model"}}))
    folder = Path(hub.locate()["folder"])
    assert not (folder / "evil.py").exists()
    assert (Path(hub.locate("owner/tiny", "", "remote-code")["folder"]) / "evil.py").is_file()
    assert "folder" in hub.locate("owner/tiny", "", "remote-code")
    assert hub.requests == [], "everything is there now"


def test_without_the_network_a_cached_pickle_is_refused_for_what_it_is(hub: Hub) -> None:
    (hub.files / "model.safetensors").unlink()
    assert "folder" in hub.locate("owner/tiny", "", "pickle")
    hub.status = 503
    found = hub.locate()
    assert found["error"] == "ModelError"
    assert 'allow = ["pickle"]' in found["said"]


def test_named_revision_and_unknown_revision(hub: Hub) -> None:
    assert "folder" in hub.locate("owner/tiny", "main")
    found = hub.locate("owner/tiny", "v9")
    assert (found["error"], found["said"].split(";")[0]) == ("ModelError", "owner/tiny has no revision v9")


@pytest.mark.parametrize(
    ("status", "code", "error", "said"),
    [
        (404, "RepoNotFound", "ModelError", "neither a folder here nor a model on the hub"),
        (403, "GatedRepo", "ModelError", "is gated"),
        (401, "", "ModelError", "does not let you read owner/tiny; log in"),
        (503, "", "ResourceError", "could not be downloaded"),
    ],
)
def test_refusal_of_the_hub_is_one_sentence(hub: Hub, status: int, code: str, error: str, said: str) -> None:
    hub.status, hub.error_code = status, code
    found = hub.locate()
    assert found["error"] == error
    assert said in found["said"]


def test_no_network_is_one_sentence(hub: Hub) -> None:
    found = hub.locate(HF_ENDPOINT="http://127.0.0.1:9")
    assert found["error"] == "ResourceError"
    assert "connect to the network" in found["said"]
    found = hub.locate(HF_HUB_OFFLINE="1")
    assert found["error"] == "ResourceError"
    assert "HF_HUB_OFFLINE forbids the download" in found["said"]


def test_repository_without_a_loadable_model_says_what_it_holds(hub: Hub) -> None:
    (hub.files / "config.json").unlink()
    assert "has no config.json" in hub.locate()["said"]
    (hub.files / "tiny.Q4_0.gguf").touch()
    assert "such as tiny.Q4_0.gguf, and name the file" in hub.locate()["said"]
