"""A run on a Ray cluster of its own, in a process of its own: `python -m tests.batch.ray_run SETTINGS RECORDS`."""

from __future__ import annotations

import sys

from lookahead_cli.batch.feed import Feed
from lookahead_cli.batch.ray_engine import RayEngine
from lookahead_cli.batch.records import Record
from lookahead_cli.profile import Settings
from tests.batch.answered import outcomes


def main(settings: str, count: str) -> None:
    """Print the id of each record when it has been answered. One worker, two records at a time."""
    records = (Record(number, str(number), "a.txt", prompt="hello world") for number in range(int(count)))
    with RayEngine(Settings.model_validate_json(settings), 2, cores=1000) as engine, Feed(records) as feed:
        for outcome in outcomes(engine, feed):
            print(outcome.id, flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
