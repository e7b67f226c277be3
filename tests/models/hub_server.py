"""A hub on this machine: a server that answers as the real one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.tiny_models import save_tiny_llama

PIECE = 1 << 16
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
        self.pause = 0.0  # seconds after each piece of a file
        hub = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

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
            for start in range(0, len(content), PIECE):
                request.wfile.write(content[start : start + PIECE])
                time.sleep(self.pause)

    def downloaded(self) -> set[str]:
        """The files of the repository whose content was sent."""
        return {line.split("/", 5)[5] for line in self.requests if line.startswith("GET /owner/tiny/resolve/")}

    def locate(self, source: str = "owner/tiny", revision: str = "", *allow: str, **variables: str) -> dict[str, Any]:
        """What `locate` finds or says, with its progress under "progress"."""
        self.requests.clear()
        settings = {**self.environment, **variables}
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

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process take this for the hub."""
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(self.home), "HF_HUB_DISABLE_XET": "1"}


def tiny_hub(folder: Path) -> Hub:
    """With a tiny model, and files that nobody needs."""
    files = save_tiny_llama(folder / "repository")
    (files / "README.md").write_text("not needed")
    (files / "evil.py").write_text("raise SystemExit")
    (files / "pytorch_model.bin").write_bytes(b"not needed")
    (files / "onnx").mkdir()
    (files / "onnx" / "config.json").write_text("{}")
    return Hub(files, folder / "home")


def use_hub(hub: Hub, patch: pytest.MonkeyPatch) -> None:
    """Let the hub library in this process take `hub` for the hub. It reads its variables once, at import."""
    from huggingface_hub import constants

    patch.setattr(constants, "HF_HUB_CACHE", str(hub.home / "hub"))
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(constants, "ENDPOINT", hub.url)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{repo_id}")
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "".join(template[1:]))
