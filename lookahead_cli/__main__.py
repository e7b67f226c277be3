"""Entry point: runs the app and turns what can go wrong into one sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys

from typer.exceptions import TyperException

from lookahead_cli.app import app
from lookahead_cli.errors import Interrupted, LookaheadError, ResourceError

BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output has gone (`| head`)."""


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run())


def run() -> int:
    """Run the command line; returns the exit code."""
    prepare_output()
    try:
        code = app(prog_name="lookahead", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except LookaheadError as error:
        return complain(str(error), error.exit_code)
    except TyperException as error:
        # An empty message means that help has been shown in its place.
        message = error.format_message().rstrip(".")
        return (
            complain(f"{message[:1].lower()}{message[1:]}; see --help", error.exit_code) if message else error.exit_code
        )
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    except OSError as error:
        discard_output()
        return complain(f"the output could not be written: {error.strerror or error}", ResourceError.exit_code)


def prepare_output() -> None:
    """Text leaves as UTF-8 with plain line breaks; a terminal that knows fewer characters gets signs for the rest."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def discard_output() -> None:
    """Python flushes stdout once more at exit: let that go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str, code: int) -> int:
    """One sentence on stderr."""
    from lookahead_cli.text.visible import visible

    print(f"lookahead: {visible(' '.join(message.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
