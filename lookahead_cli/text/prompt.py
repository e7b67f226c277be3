"""The prompt's text: from a flag, a file and standard input."""

from __future__ import annotations

from pathlib import Path

from lookahead_cli.errors import PromptError


def decode_prompt(content: bytes, origin: str) -> str:
    """Text of a prompt that came as bytes, without one final line break.

    Raises:
        PromptError: it is not UTF-8 text.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptError(
            f"{origin} is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x}): give it as UTF-8"
        ) from None
    if "\0" in text:
        raise PromptError(f"{origin} is a binary file (it holds a NUL byte): give a text file")
    return text.removesuffix("\n").removesuffix("\r")


def read_prompt_file(path: Path) -> str:
    """Text of a prompt file.

    Raises:
        PromptError: it cannot be read or is not text.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PromptError(f"prompt file {path}: {error.strerror or error}") from None
    return decode_prompt(content, f"prompt file {path}")


def join_prompt(*parts: str | None) -> str:
    """One prompt from what was given, in order, a blank line between two parts.

    Raises:
        PromptError: there is nothing but white space, or bytes that are not text.
    """
    text = "\n\n".join(part for part in parts if part)
    if not is_unicode(text):
        raise PromptError("the prompt is not UTF-8 text: give it as UTF-8")
    if not text.strip():
        raise PromptError("the prompt is empty: write what to continue or answer")
    return text


def is_unicode(text: str) -> bool:
    """Whether `text` is all characters: Python smuggles bytes of arguments that are not UTF-8 in as half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
