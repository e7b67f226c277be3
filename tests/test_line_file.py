"""Lines are in the file whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.errors import ResourceError
from lookahead_cli.line_file import append, whole_lines


def number_in(line: bytes) -> int:
    return int(line)


def test_a_full_disk_takes_half_a_line_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write = os.write
    room = [7, 5]

    def full(file: int, content: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content[: room.pop(0)])

    with path.open("w+b", buffering=0) as file:
        append(path, file, b"first\n")
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(ResourceError, match="a could not be written: No space left on device"):
            append(path, file, b"a line that is longer\n")
        assert path.read_bytes() == b"first\n"
        monkeypatch.undo()
        assert append(path, file, b"second\n") == 6
    assert path.read_bytes() == b"first\nsecond\n"


def test_ctrl_c_between_two_writes_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write = os.write

    def interrupted(file: int, content: bytes) -> int:
        write(file, content[:3])
        raise KeyboardInterrupt

    with path.open("w+b", buffering=0) as file:
        append(path, file, b"first\n")
        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            append(path, file, b"second\n")
    assert path.read_bytes() == b"first\n"


@given(st.data())
def test_wherever_a_file_was_torn_whole_lines_are_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("torn") / "a"
    content = b"12\n345\n6\n78\n"
    length = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:length])
    with path.open("r+b", buffering=0) as file:
        lines = list(whole_lines(file, number_in))
    kept = content[: content.rfind(b"\n", 0, length) + 1]
    assert path.read_bytes() == kept == b"".join(line.raw for line in lines)
    assert [line.content for line in lines] == [12, 345, 6, 78][: len(lines)]
    assert all(content[line.offset :].startswith(line.raw) for line in lines)


def test_a_broken_line_is_dropped_at_the_end_and_refused_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1\n2\nthree\n")
    with path.open("r+b", buffering=0) as file:
        assert [line.number for line in whole_lines(file, number_in)] == [1, 2]
    assert path.read_bytes() == b"1\n2\n"
    for content in (b"1\ntwo\n3\n", b"1\ntwo\n3", b"1\n\0\0\n3\n"):
        path.write_bytes(content)
        with path.open("r+b", buffering=0) as file, pytest.raises(ValueError, match=r"damaged in line 2 .*take it out"):
            list(whole_lines(file, number_in))
        assert path.read_bytes() == content, "what cannot be used is left as it was"
