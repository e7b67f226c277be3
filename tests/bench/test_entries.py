"""What `--with NAME:KEY=VALUE,...` means."""

from __future__ import annotations

from lookahead_cli.bench.entries import read_entry
from lookahead_cli.profile import Settings


def test_a_plus_joins_drafters_and_is_itself_elsewhere() -> None:
    entry = read_entry("lookahead:drafters=copies+n-grams,stop=1+1,temperature=1e+0", Settings())
    assert entry.decoding.drafters == ["copies", "n-grams"]
    assert entry.decoding.stop == ["1+1"]
    assert entry.decoding.temperature == 1.0
