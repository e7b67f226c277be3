"""The successor table: what a model finds likely after single tokens and after runs it wrote by itself.

One safetensors file of a few megabytes, derived from the model alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from lookahead_cli.decoding.drafters import LONGEST_CONTEXT
from lookahead_cli.decoding.likely import CERTAINTIES, certainty
from lookahead_cli.models.whole_file import written_whole

FORMAT = 1
"""Part of the file's name: raise it when the content changes its meaning, and old tables are made anew."""
FOLLOWERS = 4
"""Tokens kept per context: the likeliest ones."""
TOKEN_BITS = 21
"""Room for one token id in a packed context: three of them fit into a signed 64-bit number."""
NO_TOKEN = -1
LOOKED_UP = 50_000
"""Contexts kept as dicts once they have been asked for."""
NOTHING: Mapping[int, int] = {}

Row = Mapping[int, int]
"""Likely tokens with their certainty, likeliest first."""


def table_file(folder: Path) -> Path:
    """Where a model's table lies in its knowledge folder."""
    return folder / f"successors-v{FORMAT}.safetensors"


def pack(context: Sequence[int]) -> int:
    """Up to three token ids as one number."""
    packed = 0
    for token in context:
        packed = packed << TOKEN_BITS | token
    return packed


class TableBuilder:
    """Collects rows; a later row for the same context takes the place of the earlier one."""

    def __init__(self, vocab: int) -> None:
        self.singles: list[Row] = [NOTHING] * vocab
        self.contexts: list[dict[int, Row]] = [{} for _ in range(LONGEST_CONTEXT)]
        """By the length of the context less one, then by the packed context."""
        self.conversations = 0
        """How far the rehearsal has come."""

    @classmethod
    def resume(cls, vocab: int, table: SuccessorTable | None) -> TableBuilder:
        """A builder with what is in `table`, or an empty one."""
        builder = cls(vocab)
        if table is not None:
            builder.singles = [table.after_single(token) for token in range(vocab)]
            for order, rows in enumerate(builder.contexts, start=1):
                rows.update(table.rows(order))
            builder.conversations = table.conversations
        return builder

    def add_single(self, token: int, row: Row) -> None:
        """What follows a token that stands alone."""
        self.singles[token] = row

    def add(self, tokens: Sequence[int], row: Row) -> None:
        """What follows `tokens` in a text: kept for the last one, two and three of them."""
        for order, rows in enumerate(self.contexts, start=1):
            if len(tokens) >= order:
                rows[pack(tokens[-order:])] = row

    def save(self, file: Path) -> None:
        """Write the table, completely or not at all. Raises OSError."""
        arrays: dict[str, NDArray[np.generic]] = {}
        arrays["single.tokens"], arrays["single.kinds"] = columns(self.singles)
        for order, rows in enumerate(self.contexts, start=1):
            contexts = sorted(rows)
            arrays[f"{order}.contexts"] = np.array(contexts, dtype=np.int64)
            tokens, kinds = columns([rows[context] for context in contexts])
            arrays[f"{order}.tokens"], arrays[f"{order}.kinds"] = tokens, kinds
        arrays["conversations"] = np.array([self.conversations], dtype=np.int64)
        with written_whole(file) as unfinished:
            save_file(arrays, unfinished)
            unfinished.chmod(0o644)  # safetensors files begin as private ones, but a cache can be shared


def row_of(ids: Sequence[int], probabilities: Sequence[float]) -> Row:
    """The first of these tokens, likeliest first, as they are kept."""
    return {
        token: certainty(probability)
        for token, probability in zip(ids[:FOLLOWERS], probabilities[:FOLLOWERS], strict=True)
    }


def columns(rows: Sequence[Row]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Likely tokens (n, FOLLOWERS) and their certainties (n, FOLLOWERS)."""
    tokens = np.full((len(rows), FOLLOWERS), NO_TOKEN, dtype=np.int32)
    kinds = np.zeros((len(rows), FOLLOWERS), dtype=np.uint8)
    for index, row in enumerate(rows):
        for place, (token, kind) in enumerate(row.items()):
            tokens[index, place], kinds[index, place] = token, kind
    return tokens, kinds


class SuccessorTable:
    """A table in memory, asked for one context at a time. Is a `RehearsedContexts`."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self.arrays = arrays
        self.looked_up: dict[tuple[int, ...], Mapping[int, int]] = {}

    @property
    def conversations(self) -> int:
        """How many conversations of the rehearsal are in it."""
        return int(self.arrays["conversations"][0])

    def rows(self, order: int) -> Iterator[tuple[int, Mapping[int, int]]]:
        """All packed contexts of so many tokens, with what follows."""
        for index, packed in enumerate(self.arrays[f"{order}.contexts"].tolist()):
            yield packed, self._row(str(order), index)

    def after_single(self, token: int) -> Mapping[int, int]:
        return self._row("single", token)

    def look_up(self, context: tuple[int, ...]) -> Mapping[int, int]:
        found = self.looked_up.get(context)
        if found is None:
            if len(self.looked_up) >= LOOKED_UP:
                self.looked_up.clear()
            found = self.looked_up[context] = self._find(context)
        return found

    def _find(self, context: tuple[int, ...]) -> Mapping[int, int]:
        contexts = self.arrays[f"{len(context)}.contexts"]
        packed = pack(context)
        index = int(contexts.searchsorted(packed))
        return self._row(str(len(context)), index) if index < len(contexts) and contexts[index] == packed else NOTHING

    def _row(self, part: str, index: int) -> Mapping[int, int]:
        tokens = self.arrays[f"{part}.tokens"][index].tolist()
        kinds = self.arrays[f"{part}.kinds"][index].tolist()
        return {token: kind for token, kind in zip(tokens, kinds, strict=True) if token != NO_TOKEN}


def load_table(file: Path, vocab: int) -> SuccessorTable | None:
    """The table in `file`; None if there is none, or none that fits a vocabulary of this size."""
    try:
        arrays = load_file(file)
    except (OSError, SafetensorError):
        return None
    parts = ["single", *(str(order) for order in range(1, LONGEST_CONTEXT + 1))]
    names = {"conversations", *(f"{part}.{column}" for part in parts for column in ("tokens", "kinds"))}
    names |= {f"{part}.contexts" for part in parts[1:]}
    if not names <= set(arrays) or len(arrays["single.tokens"]) != vocab:
        return None
    if arrays["conversations"].shape != (1,) or not all(is_whole(arrays, part, vocab) for part in parts):
        return None
    return SuccessorTable(arrays)


def is_whole(arrays: Mapping[str, NDArray[np.generic]], part: str, vocab: int) -> bool:
    """Whether the columns of a part fit together and hold what they should."""
    tokens, kinds = arrays[f"{part}.tokens"], arrays[f"{part}.kinds"]
    contexts = arrays.get(f"{part}.contexts")
    return (
        tokens.dtype == np.int32
        and kinds.dtype == np.uint8
        and tokens.shape == kinds.shape == (len(tokens), FOLLOWERS)
        and (contexts is None or (contexts.dtype == np.int64 and contexts.shape == (len(tokens),)))
        and bool(np.all((tokens >= NO_TOKEN) & (tokens < vocab)))  # type: ignore[operator]
        and bool(np.all(kinds < CERTAINTIES))  # type: ignore[operator]
    )
