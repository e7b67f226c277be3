"""Runs the app and turns what can go wrong into one sentence and an exit code."""

from __future__ import annotations

import sys
from contextlib import suppress

from typer.exceptions import TyperException

from lookahead_cli.app import app
from lookahead_cli.commands.misuse import explained
from lookahead_cli.commands.output import discard_output, prepare_outputs, writing_output
from lookahead_cli.errors import Interrupted, LookaheadError, ReaderGone, ResourceError
from lookahead_cli.library_messages import DEBUG_VARIABLE, is_debugging


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
        message = explained(error)
        return complain(message, error.exit_code) if message else 2
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        discard_output()
        return ReaderGone.exit_code
    except MemoryError:
        return complain("there is not enough memory: close other programs, or give less", ResourceError.exit_code)
    except Exception as error:
        if is_debugging():
            raise
        what = f"{type(error).__name__}: {error}".partition("\n")[0]
        advice = f"; set {DEBUG_VARIABLE}=1 to see where, and report it please"
        return complain(f"this should not have happened ({what})", ResourceError.exit_code, advice)


def complain(message: str, code: int, advice: str = "") -> int:
    """One sentence on stderr, if there is anything to say and somebody to hear it."""
    from lookahead_cli.text.visible import visible

    if message:
        with suppress(OSError):
            print(f"lookahead: {visible(' '.join(message.split())).rstrip('.')}{advice}", file=sys.stderr, flush=True)
    return code
