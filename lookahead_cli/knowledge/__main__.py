"""The background process: `python -m lookahead_cli.knowledge MODEL_FOLDER KNOWLEDGE_FOLDER`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from filelock import FileLock, Timeout

from lookahead_cli.knowledge.background import count_attempt
from lookahead_cli.knowledge.folder import LOCK
from lookahead_cli.knowledge.table import TableBuilder, load_table, table_file
from lookahead_cli.models.devices import multiplies_bfloat16

MOST_SECONDS = 3600
"""After that long what there is must do."""


def main(model: Path, folder: Path) -> None:
    """Rehearse and save now and then, so that little is lost if the machine is turned off."""
    give_way()
    with suppress(Timeout), FileLock(folder / LOCK, timeout=0):
        count_attempt(folder)
        from lookahead_cli.knowledge.rehearsal import CONVERSATIONS, rehearse
        from lookahead_cli.models.loading import Wish, load

        started = perf_counter()
        dtype = "bfloat16" if multiplies_bfloat16() else "float32"
        loaded = load(model, Wish(dtype=dtype, device="cpu", runner="transformers"))
        vocab = loaded.runner.vocab
        file = table_file(folder)
        builder = TableBuilder.resume(vocab, load_table(file, vocab))
        for _ in rehearse(loaded, builder):
            late = perf_counter() - started > MOST_SECONDS
            if late:
                builder.conversations = CONVERSATIONS
            builder.save(file)
            if late:
                break


def give_way() -> None:
    """Run only when no other process wants the processor."""
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if hasattr(os, "nice"):
        os.nice(19)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
