"""Entry point of `lookahead` and `python -m lookahead_cli`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line and exit."""
    # While there is nobody yet to hear of it, and again when all is said, Ctrl-C just ends the program: no traceback
    # out of an import or of Python's own clearing up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lookahead_cli.program import run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


if __name__ == "__main__":
    main()
