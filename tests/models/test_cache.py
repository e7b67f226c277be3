"""A cache entry is built once, whole or not at all, whoever is killed or starts at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from lookahead_cli.models.cache import build_once, cache_folder, is_finished
from lookahead_cli.models.progress import silent

# Builds the entry named by its argument, slowly; prints when it begins to build, and when the entry is there.
BUILD = """
import sys, time
from pathlib import Path
from lookahead_cli.models.cache import build_once
def build(staging):
    (staging / "half").touch()
    print("building", flush=True)
    time.sleep(float(sys.argv[2]))
    (staging / "whole").touch()
build_once(Path(sys.argv[1]), "it", build, lambda activity, fraction=None: print(activity, flush=True))
print("there", flush=True)
"""


def start(entry: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", BUILD, str(entry), str(seconds)], stdout=subprocess.PIPE, text=True)


def wait_until_building(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "building\n"


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.endswith(".lock"))


@pytest.fixture
def entry(cache: Path) -> Path:
    return cache / "models" / "entry"


def build_file(staging: Path) -> None:
    (staging / "file").write_text("content")


def test_two_processes_share_one_build(entry: Path) -> None:
    first = start(entry, 0.5)
    wait_until_building(first)
    second = start(entry, 0.5)
    assert first.communicate(timeout=60)[0] == "there\n"
    assert second.communicate(timeout=60)[0] in (
        "waiting for another lookahead to finish preparing it\nthere\n",
        "there\n",  # it started after the first had finished
    )
    assert names(entry) == ["contents.json", "half", "whole"]


def test_leftovers_of_a_killed_process_are_removed_next_time(entry: Path) -> None:
    killed = start(entry, 60)
    wait_until_building(killed)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    (leftover,) = names(entry.parent)
    assert leftover.startswith(".staging-entry-")
    build_once(entry, "it", build_file, silent)
    assert names(entry.parent) == ["entry"]


def test_interrupted_process_leaves_nothing(entry: Path) -> None:
    interrupted = start(entry, 60)
    wait_until_building(interrupted)
    os.kill(interrupted.pid, signal.SIGINT)
    interrupted.communicate()
    assert names(entry.parent) == []


def test_whoever_finds_the_entry_locked_waits_and_says_so(entry: Path) -> None:
    entry.parent.mkdir(parents=True)
    lock = FileLock(entry.parent / ".entry.lock")
    lock.acquire()
    told: list[str] = []

    def let_go(activity: str, fraction: float | None = None) -> None:
        told.append(activity)
        lock.release()

    assert build_once(entry, "it", build_file, let_go) == entry
    assert told == ["waiting for another lookahead to finish preparing it"]


def test_entry_is_finished_only_with_every_file_at_its_size(entry: Path) -> None:
    assert not is_finished(entry)
    build_once(entry, "it", build_file, silent)
    assert is_finished(entry)
    (entry / "file").write_text("less")
    assert not is_finished(entry)
    build_once(entry, "it", build_file, silent)
    (entry / "file").unlink()
    assert not is_finished(entry)
    build_once(entry, "it", build_file, silent)
    (entry / "contents.json").write_text("[]")
    assert not is_finished(entry)


def test_finished_entry_needs_no_writable_cache(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_once(entry, "it", build_file, silent)
    monkeypatch.setattr("lookahead_cli.models.cache.FileLock", pytest.fail)
    assert build_once(entry, "it", build_file, silent) == entry


def test_cache_folder_is_the_users_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", "~/somewhere")
    assert cache_folder() == Path.home() / "somewhere"
    monkeypatch.delenv("LOOKAHEAD_CACHE")
    assert cache_folder().name in ("lookahead", "Cache")
