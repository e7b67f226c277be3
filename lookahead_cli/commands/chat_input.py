"""What is typed into a chat: lines edited on a terminal, or read from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lookahead_cli.errors import PromptError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

PROMPT, CONTINUED = ">>> ", "... "
BYTE_ORDER_MARK = "\ufeff"
QUOTES = '"""'
"""A message that begins with these goes on over many lines, until they come again."""
LOCAL_MODES = 3
"""Where a terminal's attributes say whether it echoes."""


def is_unfinished(text: str) -> bool:
    """Whether a message of many lines still lacks its end."""
    return text.startswith(QUOTES) and (len(text) < 2 * len(QUOTES) or not text.rstrip().endswith(QUOTES))


def unquoted(text: str) -> str:
    """The message without the quotes around many lines, and without blanks at its ends."""
    text = text.strip()
    if text.startswith(QUOTES) and not is_unfinished(text):
        text = text[len(QUOTES) : -len(QUOTES)].strip()
    return text


def piped_messages(read_line: Callable[[], bytes]) -> Iterator[str]:
    """A message for each line, or for many between quotes; `read_line` gives nothing at the end.

    Raises:
        PromptError: it is not text.
    """
    text = ""
    try:
        while line := read_line():
            text += line.decode("utf-8").lstrip(BYTE_ORDER_MARK)
            if is_unfinished(text.strip()):
                continue
            yield unquoted(text)
            text = ""
    except UnicodeDecodeError:
        raise PromptError("standard input is not UTF-8 text: give it as UTF-8") from None
    if text.strip():
        raise PromptError(f"standard input ends in a message that began with {QUOTES}: end it with {QUOTES}")


def typed_messages(editor: PromptSession[str], on_ctrl_c: Callable[[], None]) -> Iterator[str]:
    """Messages typed on a terminal, until Ctrl-D."""
    while True:
        try:
            text = editor.prompt()
        except KeyboardInterrupt:
            on_ctrl_c()
        except EOFError:
            return
        else:
            yield unquoted(text)


@contextmanager
def keys_unseen() -> Iterator[None]:
    """What is typed inside, such as Ctrl-C or the next message, is not shown between the words of an answer. The next
    prompt has it, unless Ctrl-C came later, which throws away what waits."""
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    import termios

    try:
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
    except (OSError, ValueError, termios.error):  # whatever it is, nobody's keys are shown on it
        yield
        return
    unseen = [*before]
    unseen[LOCAL_MODES] &= ~termios.ECHO
    try:
        termios.tcsetattr(terminal, termios.TCSADRAIN, unseen)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def line_editor(history: Path | None, completions: Callable[[str], list[str]]) -> PromptSession[str]:
    """Line editing on the terminal, with what was typed in earlier chats if `history` is a file that can be used.

    It writes to stderr: stdout is for answers.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        key_bindings=_bindings(),
        history=_history(history),
        completer=_completer(completions),
        complete_while_typing=False,
        enable_suspend=True,
        output=create_output(stdout=sys.stderr),
    )


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_unfinished(buffer.text.strip()):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def _history(file: Path | None) -> History:
    """What was typed is for its owner alone; a file that cannot be used is no reason not to talk."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class Kept(FileHistory):
        def load_history_strings(self) -> Iterable[str]:
            with suppress(OSError):
                return super().load_history_strings()
            return ()

        def store_string(self, string: str) -> None:
            with suppress(OSError):  # the disk is full
                super().store_string(string)

    if file is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            if file.is_file():  # a device may have no end, a pipe nobody who reads
                with file.open("ab"):
                    return Kept(str(file))
    return InMemoryHistory()


def _completer(completions: Callable[[str], list[str]]) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Slash(Completer):
        def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
            before = document.text_before_cursor
            word = before.rpartition(" ")[2]
            for choice in completions(before):
                yield Completion(choice, start_position=-len(word))

    return Slash()
