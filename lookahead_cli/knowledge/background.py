"""Starting a rehearsal where nobody waits for it: a process of its own, at the lowest priority."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from lookahead_cli.knowledge.folder import LOCK
from lookahead_cli.knowledge.rehearsal import CONVERSATIONS
from lookahead_cli.knowledge.table import load_table, table_file
from lookahead_cli.models.devices import free_main_memory

MOST_PARAMETERS = 2_000_000_000
"""A larger model would keep a processor busy for hours."""
MEMORY_PER_PARAMETER = 6
"""Bytes that must be free for each parameter: a copy of the weights, and room to work."""
MOST_ATTEMPTS = 5
"""A rehearsal that never gets to its end is not tried for ever."""
ATTEMPTS = "rehearsal-attempts.json"


def start_rehearsal(model: Path, folder: Path, vocab: int, parameters: int) -> bool:
    """Start one for the model in the folder `model` if there is anything left to do; says whether it did.

    `folder` is the model's knowledge folder. Never raises: it is a luxury.
    """
    if parameters > MOST_PARAMETERS or parameters * MEMORY_PER_PARAMETER > free_main_memory():
        return False
    try:
        table = load_table(table_file(folder), vocab)
        if table is not None and table.conversations >= CONVERSATIONS:
            return False
        folder.mkdir(parents=True, exist_ok=True)
        if is_running(folder) or attempts(folder) >= MOST_ATTEMPTS:
            return False
        subprocess.Popen(
            [sys.executable, "-m", "lookahead_cli.knowledge", str(model), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        )
    except (OSError, NotImplementedError):  # a cache folder that takes no files, or no locks
        return False
    return True


def is_running(folder: Path) -> bool:
    """Whether a rehearsal for this model is under way."""
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True


def attempts(folder: Path) -> int:
    """How many rehearsals have begun without coming to their end."""
    try:
        return int(json.loads((folder / ATTEMPTS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return 0


def count_attempt(folder: Path) -> None:
    """Note that a rehearsal has begun. Raises OSError."""
    (folder / ATTEMPTS).write_text(json.dumps(attempts(folder) + 1), encoding="utf-8")
