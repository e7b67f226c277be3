"""Entry point: runs the app and turns what can go wrong into one sentence and an exit code."""

from __future__ import annotations

import sys

from typer.exceptions import TyperException

from lookahead_cli.app import app
from lookahead_cli.commands.output import discard_output, prepare_outputs, writing_output
from lookahead_cli.errors import Interrupted, LookaheadError, ResourceError

BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output has gone (`| head`)."""


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run())


def run() -> int:
    """Run the command line; returns the exit code."""
    prepare_outputs()
    try:
        code = app(prog_name="lookahead", standalone_mode=False) or 0
        with writing_output():
            return code
    except LookaheadError as error:
        return complain(str(error), error.exit_code)
    except TyperException as error:
        # An empty message means that help has been shown in its place.
        message = error.format_message()
        return complain(f"{message[:1].lower()}{message[1:]}", error.exit_code, "; see --help") if message else 2
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    except OSError as error:
        discard_output()
        return complain(f"the system did not play along: {error}", ResourceError.exit_code)


def complain(message: str, code: int, advice: str = "") -> int:
    """One sentence on stderr."""
    from lookahead_cli.text.visible import visible

    print(f"lookahead: {visible(' '.join(message.split())).rstrip('.')}{advice}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
