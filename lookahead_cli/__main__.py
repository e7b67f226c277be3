"""Entry point: runs the app and turns what can go wrong into one sentence and an exit code."""

from __future__ import annotations

import os
import sys

from typer.exceptions import TyperException

from lookahead_cli.app import app
from lookahead_cli.errors import Interrupted, LookaheadError

BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output has gone (`| head`)."""


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run())


def run() -> int:
    """Run the command line; returns the exit code."""
    try:
        code = app(prog_name="lookahead", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except LookaheadError as error:
        return complain(str(error), error.exit_code)
    except TyperException as error:
        message = error.format_message()
        return (
            complain(f"{message[:1].lower()}{message[1:].rstrip('.')}; see --help", error.exit_code) if message else 2
        )
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        # Python flushes stdout once more at exit; let that go nowhere instead of complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def complain(message: str, code: int) -> int:
    """One sentence on stderr."""
    from lookahead_cli.text.visible import visible

    print(f"lookahead: {visible(' '.join(message.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
