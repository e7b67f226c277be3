"""What can go wrong, as exceptions a reader can guess. Each message is one sentence: what, where, what to do."""


class LookaheadError(Exception):
    """Base of every error the user can do something about. The command line prints it and leaves with `exit_code`."""

    exit_code = 2


class ProfileError(LookaheadError):
    """A profile, environment variable or flag holds something that is not allowed."""


class PromptError(LookaheadError):
    """There is no usable prompt: missing, empty, not text, or longer than the context."""


class ModelError(LookaheadError):
    """The named model cannot be used: missing files, damaged file, unknown architecture, refused content."""


class TraceError(LookaheadError):
    """What is to be replayed is no trace of a generation, or a damaged one."""


class ResourceError(LookaheadError):
    """The machine could not do its part: no network, full disk, out of memory."""

    exit_code = 1


class OutputFailed(ResourceError):
    """What came out could not be written."""


class ReaderGone(LookaheadError):
    """Whoever read our output has left (`| head`). Nobody is told."""

    exit_code = 141  # 128 + SIGPIPE


class Interrupted(LookaheadError):
    """The user pressed Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, what shells report for a program ended by it


EXIT_CODES = {
    0: "done",
    1: "partly failed, or tokens differ that must not, or the machine is at fault",
    2: "wrong use: one sentence on stderr says what and where",
    130: "interrupted by Ctrl-C",
    141: "whoever read the output has gone",
}
"""What the program says to scripts."""

FAILURES = (LookaheadError, MemoryError, RuntimeError)
"""What can go wrong while a model runs: torch knows only RuntimeError. Of what came before it nothing must be lost."""
ENDINGS = (KeyboardInterrupt, *FAILURES)
"""What may end a measurement early, with what has been measured still to be shown."""
