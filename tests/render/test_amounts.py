"""Numbers in the few digits a reader wants."""

from __future__ import annotations

import pytest

from lookahead_cli.render.amounts import shown_ago, shown_bytes, shown_count


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (9960, "10 kB"), (999_499, "999 kB"), (999_600, "1.0 MB"),
     (541_615_154, "542 MB"), (1.5e9, "1.5 GB")],
)  # fmt: skip
def test_bytes(size: float, shown: str) -> None:
    assert shown_bytes(size) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(84, "84"), (27_776, "28 K"), (134_515_008, "135 M"), (7_248_023_552, "7.2 B")]
)
def test_counts(count: int, shown: str) -> None:
    assert shown_count(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "just now"), (61, "1 minute ago"), (7200, "2 hours ago"), (86_400 * 3, "3 days ago"), (1e8, "3 years ago")],
)
def test_times(seconds: float, shown: str) -> None:
    assert shown_ago(seconds) == shown
