"""Hub models against a server on this machine that answers as the hub does; each look-up in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.tiny_models import save_tiny_llama

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# Prints the progress, then the folder or the error, one JSON document a line.
LOCATE = """
import json, sys
from lookahead_cli.errors import LookaheadError
from lookahead_cli.models.sources import locate
source, revision, allow = json.loads(sys.argv[1])
def tell(activity, fraction=None):
    print(json.dumps([activity, fraction]))
try:
    found = {"folder": str(locate(source, revision=revision, allow=frozenset(allow), progress=tell))}
except LookaheadError as error:
    found = {"error": type(error).__name__, "said": str(error)}
print(json.dumps(found))
"""


class Hub:
    """One model repository, "owner/tiny", and every request for it."""

    def __init__(self, files: Path, home: Path) -> None:
        self.files = files
        self.home = home
        self.requests: list[str] = []
        self.status = 0  # answer everything with this status, if not 0
        self.error_code = ""
        self.fail_on = ""  # break the connection when this file is asked for
        hub = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        self.requests.append(f"{request.command} {path}")
        names = sorted(str(file.relative_to(self.files)) for file in self.files.rglob("*") if file.is_file())
        if self.status:
            self.send(request, self.status, b'{"error": "refused"}', {"X-Error-Code": self.error_code})
        elif path in ("/api/models/owner/tiny", "/api/models/owner/tiny/revision/main"):
            siblings = [{"rfilename": name, "size": (self.files / name).stat().st_size} for name in names]
            self.send(request, 200, {"id": "owner/tiny", "sha": COMMIT, "siblings": siblings})
        elif path.startswith("/api/models/owner/tiny/revision/"):
            self.send(request, 404, {"error": "no"}, {"X-Error-Code": "RevisionNotFound"})
        elif path.startswith(f"/api/models/owner/tiny/tree/{COMMIT}"):
            tree = [
                {"type": "file", "path": name, "size": (self.files / name).stat().st_size, "oid": self.etag(name)}
                for name in names
            ]
            self.send(request, 200, tree)
        elif path.startswith("/owner/tiny/resolve/") and path.split("/", 5)[5] in names:
            name = path.split("/", 5)[5]
            if name == self.fail_on:
                request.connection.close()
                return
            headers = {"ETag": f'"{self.etag(name)}"', "X-Repo-Commit": COMMIT}
            self.send(request, 200, (self.files / name).read_bytes(), headers)
        else:
            self.send(request, 404, {"error": "no"}, {"X-Error-Code": "RepoNotFound"})

    def etag(self, name: str) -> str:
        return sha256((self.files / name).read_bytes()).hexdigest()[:40]

    def send(
        self, request: BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str] | None = None
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)

    def downloaded(self) -> set[str]:
        """The files of the repository whose content was sent."""
        return {line.split("/", 5)[5] for line in self.requests if line.startswith("GET /owner/tiny/resolve/")}

    def locate(self, source: str = "owner/tiny", revision: str = "", *allow: str, **variables: str) -> dict[str, Any]:
        """What `locate` finds or says, with its progress under "progress"."""
        self.requests.clear()
        settings = {"HF_ENDPOINT": self.url, "HF_HOME": str(self.home), "HF_HUB_DISABLE_XET": "1", **variables}
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        done = subprocess.run(
            [sys.executable, "-c", LOCATE, json.dumps([source, revision, allow])],
            capture_output=True,
            text=True,
            env={**inherited, **settings},
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        *told, found = [json.loads(line) for line in done.stdout.splitlines()]
        assert "\n" not in found.get("said", "")
        return {**found, "progress": told}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    files = save_tiny_llama(tmp_path / "repository")
    (files / "README.md").write_text("not needed")
    (files / "evil.py").write_text("raise SystemExit")
    (files / "pytorch_model.bin").write_bytes(b"not needed")
    (files / "onnx").mkdir()
    (files / "onnx" / "config.json").write_text("{}")
    hub = Hub(files, tmp_path / "home")
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


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
