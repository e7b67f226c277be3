"""A trace is written while the steps come, and says how it ended."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookahead_cli.decoding.events import Event
from lookahead_cli.errors import Interrupted, LookaheadError, ProfileError, ReaderGone, ResourceError
from lookahead_cli.profile import Settings
from lookahead_cli.trace.writing import open_trace
from tests.trace.written import PREFILL, PROMPT, STEPS, label, read, recorded, written


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    return written(tmp_path / "trace", PREFILL, *STEPS)


def test_each_step_is_in_the_file_before_the_next_one_is_made(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with open_trace(path) as trace:
        trace.begin(Settings(), PROMPT, [7], label)
        for count, _ in enumerate(trace.recording(iter([PREFILL, *STEPS])), start=2):
            assert path.read_bytes().count(b"\n") == count


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (Interrupted("x"), "interrupted"),
        (ReaderGone(), "interrupted"),
        (ResourceError("x"), "failed"),
        (RuntimeError("x"), "failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_last_line_says_how_it_was_cut_short(tmp_path: Path, error: BaseException, reason: str) -> None:
    def failing() -> Iterator[Event]:
        yield PREFILL
        yield STEPS[0]
        raise error

    path = tmp_path / "trace"
    with pytest.raises(type(error)):
        recorded(path, failing())
    trace = read(path.read_bytes())
    assert trace.end is not None
    assert trace.end.finish_reason == trace.cut_short == reason
    assert trace.steps == STEPS[:1]
    assert trace.note is None


def test_somebody_who_stops_listening_has_interrupted_it(tmp_path: Path) -> None:
    with open_trace(tmp_path / "trace") as recording:
        recording.begin(Settings(), PROMPT, [7], label)
        events = recording.recording(iter([PREFILL, *STEPS]))
        next(events)
    assert read((tmp_path / "trace").read_bytes()).cut_short == "interrupted"


def test_an_older_trace_is_replaced_when_a_new_one_begins_and_not_before(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "trace"
    with pytest.raises(LookaheadError), open_trace(path):
        raise LookaheadError("no such model")
    assert path.read_bytes() == whole
    assert len(written(path, PREFILL)) < len(whole)


def test_a_file_that_no_trace_came_into_does_not_stay(tmp_path: Path) -> None:
    with open_trace(tmp_path / "trace"):
        pass
    assert not (tmp_path / "trace").exists()


def test_a_file_that_is_no_trace_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "novel").write_text("It was a dark night.")
    with pytest.raises(ProfileError, match="novel is there already and is no trace; give another name"):
        open_trace(tmp_path / "novel")
    assert (tmp_path / "novel").read_text() == "It was a dark night."


@pytest.mark.parametrize(
    ("name", "said"), [(".", "Is a directory"), ("none/trace", "No such file"), ("x" * 300, "File name too long")]
)
def test_a_place_that_takes_no_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProfileError, match=f"option --trace: {name} cannot be written: {said}"):
        open_trace(Path(name))


def test_a_full_disk_is_told_and_what_is_there_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace"
    write = os.write

    def full(file: int, content: bytes) -> int:
        if len(content) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content[:30])

    def events() -> Iterator[Event]:
        yield PREFILL
        monkeypatch.setattr(os, "write", full)
        yield STEPS[0]

    with pytest.raises(ResourceError, match="trace could not be written: No space left on device"):
        recorded(path, events())
    monkeypatch.undo()
    trace = read(path.read_bytes())
    assert trace.torn == 3
    assert list(trace.events) == [PREFILL]
