"""Reading ahead in a thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from lookahead_cli.batch.feed import READ_AHEAD, Feed
from lookahead_cli.batch.records import Record
from lookahead_cli.errors import ResourceError

Start = Callable[[str], "subprocess.Popen[bytes]"]


def records(count: int) -> Iterator[Record]:
    return (Record(number, str(number), "a.txt, line 1", prompt="x") for number in range(count))


def eventually(claim: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether a claim comes true."""
    end = time.monotonic() + seconds
    while not claim() and time.monotonic() < end:
        time.sleep(0.001)
    return claim()


def test_everything_comes_in_order_and_then_the_end() -> None:
    with Feed(records(1000)) as feed:
        taken = [feed.take(wait=True) for _ in range(1000)]
        assert [record and record.number for record in taken] == list(range(1000))
        assert feed.take(wait=True) is None
        assert feed.ended
        assert feed.take(wait=False) is None


def test_who_does_not_want_to_wait_is_told_that_nothing_is_there() -> None:
    come = threading.Event()

    def slow() -> Iterator[Record]:
        come.wait()
        yield from records(1)

    with Feed(slow()) as feed:
        assert feed.take(wait=False) is None
        assert not feed.ended
        come.set()
        record = feed.take(wait=True)
        assert record is not None
        assert record.number == 0
        assert eventually(lambda: feed.ended)


def test_no_more_is_read_ahead_than_there_is_room_for() -> None:
    read: list[int] = []

    def watched() -> Iterator[Record]:
        for record in records(1000):
            read.append(record.number)
            yield record

    with Feed(watched()) as feed:
        assert eventually(lambda: len(read) == READ_AHEAD + 1)
        time.sleep(0.02)
        assert len(read) == READ_AHEAD + 1
        feed.take(wait=True)
        assert eventually(lambda: len(read) == READ_AHEAD + 2)


def test_an_error_is_raised_at_its_turn_and_once() -> None:
    def failing() -> Iterator[Record]:
        yield from records(2)
        raise ResourceError("the disk is gone")

    with Feed(failing()) as feed:
        assert [record and record.number for record in (feed.take(wait=True), feed.take(wait=True))] == [0, 1]
        ended_before = feed.ended
        with pytest.raises(ResourceError, match="the disk is gone"):
            feed.take(wait=True)
        assert (ended_before, feed.ended) == (False, True)
        assert feed.take(wait=True) is None


def test_closing_ends_the_thread_and_closes_what_it_reads() -> None:
    closed = threading.Event()

    def watched() -> Iterator[Record]:
        try:
            yield from records(1000)
        finally:
            closed.set()

    feed = Feed(watched())
    assert feed.take(wait=True) is not None
    feed.close()
    assert closed.wait(5)
    assert feed.ended
    assert feed.take(wait=True) is None


WAITING = """
import sys
from lookahead_cli.batch.feed import Feed
from lookahead_cli.batch.form import Form
from lookahead_cli.batch.reading import read_records
from lookahead_cli.batch.sources import find_sources
feed = Feed(read_records(find_sources(["-"], Form()), Form()))
print(feed.take(wait=True).prompt, flush=True)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts programs to which somebody sends a line and then nothing."""
    programs: list[subprocess.Popen[bytes]] = []

    def begin(code: str) -> subprocess.Popen[bytes]:
        program = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        programs.append(program)
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"hello\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"hello\n"
        return program

    yield begin
    for program in programs:
        program.kill()
        program.communicate()


def test_a_thread_that_waits_for_standard_input_does_not_keep_the_process(start: Start) -> None:
    program = start(WAITING)
    assert program.wait(30) == 0  # while standard input is still open
    assert program.stderr is not None
    assert program.stderr.read() == b""


def test_ctrl_c_is_heard_while_waiting_for_the_next_record(start: Start) -> None:
    program = start(WAITING + "feed.take(wait=True)")
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    assert program.wait(30) != 0
    assert program.stderr is not None
    assert program.stderr.read().rstrip().endswith(b"KeyboardInterrupt")
