"""The successor table says what was put in, for contexts of one to three tokens, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from lookahead_cli.decoding.likely import certainty
from lookahead_cli.knowledge.table import FOLLOWERS, TOKEN_BITS, TableBuilder, load_table, pack, row_of

VOCAB = 30
texts = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=12)
contexts = st.lists(st.integers(0, 2**TOKEN_BITS - 1), min_size=3, max_size=3)


@given(texts=st.lists(texts, max_size=20))
def test_a_saved_table_says_what_was_added_last(
    texts: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("table") / "table.safetensors"
    builder = TableBuilder(VOCAB)
    expected: dict[tuple[int, ...], dict[int, int]] = {}
    for number, text in enumerate(texts):
        row = {number % VOCAB: 3, (number + 1) % VOCAB: 1}
        builder.add(text, row)
        for order in range(1, min(3, len(text)) + 1):
            expected[tuple(text[-order:])] = row
    builder.add_single(4, {7: 2})
    builder.conversations = 5
    builder.save(file)
    table = load_table(file, VOCAB)
    assert table is not None
    for context, row in expected.items():
        assert table.look_up(context) == row
    assert table.look_up((29, 29, 29)) == expected.get((29, 29, 29), {})
    assert table.after_single(4) == {7: 2}
    assert table.after_single(5) == {}
    assert table.conversations == 5
    again = TableBuilder.resume(VOCAB, table)
    assert again.contexts == builder.contexts
    assert again.singles == builder.singles


@given(contexts, contexts)
def test_packed_contexts_are_told_apart(first: list[int], second: list[int]) -> None:
    assert (pack(first) == pack(second)) == (first == second)
    assert pack(first) < 2**63


def test_a_row_keeps_the_likeliest() -> None:
    row = row_of(list(range(10)), [0.5, 0.2] + [0.01] * 8)
    assert list(row) == list(range(FOLLOWERS))
    assert row[0] == certainty(0.5)


def test_a_file_that_is_no_table_is_none(tmp_path: Path) -> None:
    assert load_table(tmp_path / "missing", VOCAB) is None
    (tmp_path / "broken").write_bytes(b"nonsense")
    assert load_table(tmp_path / "broken", VOCAB) is None
    TableBuilder(VOCAB).save(tmp_path / "small")
    assert load_table(tmp_path / "small", VOCAB) is not None
    assert load_table(tmp_path / "small", VOCAB + 1) is None, "another vocabulary"
    whole = load_file(tmp_path / "small")
    wrongs: dict[str, Any] = {
        "conversations": np.zeros(0, dtype=np.int64),
        "1.contexts": np.zeros(3, dtype=np.int64),
        "single.tokens": np.zeros(VOCAB, dtype=np.int32),
        "single.kinds": np.full((VOCAB, FOLLOWERS), 255, dtype=np.uint8),
        "2.tokens": np.full((1, FOLLOWERS), 999_999, dtype=np.int32),
        "3.tokens": np.zeros((0, FOLLOWERS), dtype=np.float32),
    }
    for name, wrong in wrongs.items():
        save_file({**whole, name: wrong}, tmp_path / "wrong")
        assert load_table(tmp_path / "wrong", VOCAB) is None, name
