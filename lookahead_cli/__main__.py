"""Entry point of `lookahead` and `python -m lookahead_cli`."""

from __future__ import annotations

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line and exit."""
    # While there is nobody yet to hear of it, and again when all is said, Ctrl-C just ends the program: no traceback
    # out of an import or of Python's own clearing up.
    on_interrupt(signal.SIG_DFL)
    from lookahead_cli.library_messages import silence_libraries

    silence_libraries()
    from lookahead_cli.program import run

    on_interrupt(signal.default_int_handler)
    code = run()
    on_interrupt(signal.SIG_DFL)
    sys.exit(code)


def on_interrupt(reaction: Any) -> None:
    """Set what Ctrl-C does, unless we were started to ignore it, as a shell starts what it puts in the background."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, reaction)


if __name__ == "__main__":
    main()
