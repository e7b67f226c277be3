"""The background process: `python -m lookahead_cli.knowledge MODEL_FOLDER KNOWLEDGE_FOLDER`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from filelock import FileLock, Timeout

from lookahead_cli.knowledge.background import LOCK, count_attempt
from lookahead_cli.knowledge.table import TableBuilder, load_table, table_file

MOST_SECONDS = 3600
"""After that long what there is must do."""


def main(model: Path, folder: Path) -> None:
    """Rehearse and save now and then, so that little is lost if the machine is turned off."""
    give_way()
    with suppress(Timeout), FileLock(folder / LOCK, timeout=0):
        count_attempt(folder)
        from lookahead_cli.knowledge.rehearsal import CONVERSATIONS, rehearse
        from lookahead_cli.models.loading import load

        started = perf_counter()
        loaded = load(model, dtype=faster_dtype(), device="cpu", context_length=None, allow=frozenset())
        vocab = loaded.model.get_input_embeddings().num_embeddings
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


def faster_dtype() -> str:
    """bfloat16 where this processor multiplies it faster than float32; tried, not looked up."""
    from torch import bfloat16, float32, ones

    def seconds(dtype: object) -> float:
        left, right = ones(32, 1024, dtype=dtype), ones(1024, 1024, dtype=dtype)  # type: ignore[call-overload]
        times = []
        for _ in range(10):
            started = perf_counter()
            left @ right
            times.append(perf_counter() - started)
        return min(times)

    return "bfloat16" if seconds(bfloat16) < seconds(float32) else "float32"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
