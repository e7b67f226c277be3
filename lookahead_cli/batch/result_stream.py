"""Results that go where nothing can be read back: the terminal, a pipe, a device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from lookahead_cli.batch.result_lines import Digest
from lookahead_cli.errors import ProfileError
from lookahead_cli.line_file import not_written, write_all


class ResultStream:
    """Each line leaves at once. What is held is in memory."""

    def __init__(self, send: Callable[[bytes], None], close: Callable[[], None] = lambda: None) -> None:
        self.add = send
        self.close = close
        self.lines: dict[Digest, bytes] = {}

    failed_before = 0

    @property
    def held_in_memory(self) -> int:
        return len(self.lines)

    def is_written(self, digest: Digest) -> bool:
        return False

    def is_held(self, digest: Digest) -> bool:
        return digest in self.lines

    def line(self, digest: Digest) -> bytes:
        return self.lines[digest]

    def hold(self, digest: Digest, line: bytes) -> None:
        self.lines[digest] = line

    def release(self, digest: Digest) -> None:
        self.add(self.lines.pop(digest))

    def tidy(self) -> None:
        pass

    def finish(self) -> None:
        pass


def stdout_stream() -> ResultStream:
    """Standard output. What goes wrong there is raised as it is: whoever set it up knows what to say."""

    def send(line: bytes) -> None:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(line)
        else:
            sys.stdout.write(line.decode())
        sys.stdout.flush()

    return ResultStream(send)


def device_stream(path: Path) -> ResultStream:
    """A device or pipe by its name. Lines raise ResourceError if it takes no more, BrokenPipeError if nobody reads.

    Raises:
        ProfileError: it cannot be opened.
    """
    try:
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise ProfileError(f"option --output: {path} cannot be written: {error.strerror or error}") from None

    def send(line: bytes) -> None:
        try:
            write_all(file, line)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise not_written(path, error) from None

    return ResultStream(send, file.close)
