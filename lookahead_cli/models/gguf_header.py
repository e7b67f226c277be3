"""The head of a GGUF file: its scalar metadata, and whether all of its tensors lie inside the file.

Reading it takes milliseconds and needs no tensor library, so a damaged file is refused before anything is converted.
Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 1 counted in 32 bits and is long gone).
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

from lookahead_cli.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

Scalar = str | int | float | bool


@dataclass(frozen=True)
class GgufHeader:
    """What the head of a GGUF file says: `metadata` without its arrays, the number of weights, the tensors' names."""

    metadata: dict[str, Scalar]
    parameters: int
    tensors: frozenset[str]
    lengths: dict[str, int]
    """How many values each array of the metadata has."""
    types: dict[str, int]
    """How many of the weights are stored in each tensor type ("Q4_K"), the most common one first."""

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    def integer(self, key: str, default: int) -> int:
        """The whole number under `key`; `default` if the file has none there."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) else default


class _TruncatedError(Exception):
    """The file ends before the header does."""


def read_header(path: Path) -> GgufHeader:
    """Parse the head of `path` and check every tensor's place. Raises ModelError for a damaged file, OSError for IO."""
    size = path.stat().st_size
    with path.open("rb") as file:
        magic = file.read(4)
        if magic != _MAGIC:
            raise ModelError(
                f"{path} is not a GGUF file: it does not begin with the letters GGUF; fetch or export it again."
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _Reader(path, content, size).header()
            except _TruncatedError:
                raise ModelError(
                    f"{path} is cut short: its {size:,} bytes end inside the header; fetch the file again."
                ) from None
            except UnicodeDecodeError:
                raise ModelError(f"{path} is damaged: its header holds broken text; fetch the file again.") from None


class _Reader:
    """A position moving through the mapped file; every read checks that it stays inside."""

    def __init__(self, path: Path, content: mmap.mmap, size: int) -> None:
        self.path = path
        self.content = content
        self.size = size
        self.position = len(_MAGIC)

    def header(self) -> GgufHeader:
        version: int = self._number("I")
        if version not in _VERSIONS:
            raise ModelError(
                f"{self.path} is GGUF version {version}, or written for another byte order; "
                "only little-endian versions 2 and 3 can be read, so export the model again with current tools."
            )
        tensor_count: int = self._number("Q")
        metadata_count: int = self._number("Q")
        metadata: dict[str, Scalar] = {}
        lengths: dict[str, int] = {}
        for _ in range(metadata_count):
            key = self._string()
            kind: int = self._number("I")
            if kind == _ARRAY:
                lengths[key] = self._skip_array()
            else:
                metadata[key] = self._value(kind)
        tensors = [self._tensor() for _ in range(tensor_count)]
        names = frozenset(name for name, _, _, _ in tensors)
        alignment = metadata.get("general.alignment")
        alignment = max(alignment, 1) if isinstance(alignment, int) else _DEFAULT_ALIGNMENT
        types = self._check_tensors(tensors, -(-self.position // alignment) * alignment)
        return GgufHeader(metadata, sum(elements for _, elements, _, _ in tensors), names, lengths, types)

    def _tensor(self) -> tuple[str, int, int, int]:
        """(name, number of elements, type, offset from the start of the tensor data)."""
        name = self._string()
        dimensions: list[int] = [self._number("Q") for _ in range(self._number("I"))]
        kind: int = self._number("I")
        return name, prod(dimensions), kind, self._number("Q")

    def _check_tensors(self, tensors: list[tuple[str, int, int, int]], start: int) -> dict[str, int]:
        """Check that all lie inside the file; the number of weights of each type."""
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

        block_sizes = {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
        types: Counter[str] = Counter()
        for name, elements, kind, offset in tensors:
            if kind not in block_sizes:
                raise ModelError(
                    f"{self.path} stores {name} in the unknown tensor type {kind}; export the model as F32, F16, "
                    "Q8_0 or Q4_K_M, or update the gguf package."
                )
            block, block_bytes = block_sizes[kind]
            end = start + offset + elements // block * block_bytes
            if end > self.size:
                raise ModelError(
                    f"{self.path} is cut short: {name} should end at byte {end:,}, but the file has {self.size:,}; "
                    "fetch the file again."
                )
            types[GGMLQuantizationType(kind).name] += elements
        return dict(types.most_common())

    def _value(self, kind: int) -> Scalar:
        """The value at the position, which is no array."""
        if kind == _STRING:
            return self._string()
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        raise ModelError(f"{self.path} is damaged: its header holds the unknown value type {kind}; fetch it again.")

    def _skip_array(self) -> int:
        """Move behind an array; how many values it has."""
        kind: int = self._number("I")
        count: int = self._number("Q")
        if kind in _SCALARS:
            self._advance(count * struct.calcsize("<" + _SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self._advance(self._number("Q"))
        else:
            raise ModelError(f"{self.path} is damaged: its header holds a list of type {kind}; fetch the file again.")
        return count

    def _string(self) -> str:
        length: int = self._number("Q")
        begin = self._advance(length)
        return self.content[begin : begin + length].decode("utf-8")

    def _number(self, code: str) -> int:
        # Typed as int for all codes: floats and booleans only ever land in the metadata, where any scalar may.
        begin = self._advance(struct.calcsize("<" + code))
        value: int = struct.unpack_from("<" + code, self.content, begin)[0]
        return value

    def _advance(self, length: int) -> int:
        """Move on by `length` bytes and return where they begin."""
        begin = self.position
        if length > self.size - begin:
            raise _TruncatedError
        self.position = begin + length
        return begin
