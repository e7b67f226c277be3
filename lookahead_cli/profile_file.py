"""A profile as it lies on disk: its tables, the lines its keys stand on, and what is wrong with its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from lookahead_cli.errors import ProfileError
from lookahead_cli.profile_lines import key_lines

ENCODING = "utf-8-sig"
"""Some editors begin a file with a byte order mark."""


@dataclass(frozen=True)
class Fault:
    """Something in a profile that is not allowed."""

    file: Path
    line: int | None
    """From 1; None where it is not known, or not of one line."""
    what: str
    """In words that follow the place."""

    def __str__(self) -> str:
        return f"{told_place(self.file, self.line)}: {self.what}"


class FaultyProfile(ProfileError):
    """A profile that cannot be used because of what is in its file."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"profile {fault}")
        self.fault = fault


@dataclass(frozen=True)
class ProfileFile:
    """What a file says, not yet validated."""

    path: Path
    tables: dict[str, Any]
    lines: Mapping[tuple[str, ...], int]
    """Where the tables and keys stand, as far as that is known."""

    def fault(self, what: str, *keys: str) -> Fault:
        """Something wrong with what stands at these keys."""
        return Fault(self.path, self.lines.get(keys), what)


def told_place(file: Path, line: int | None) -> str:
    """A place in a file, in words."""
    return str(file) if line is None else f"{file}, line {line}"


def read_profile(path: Path) -> ProfileFile:
    """Read it.

    Raises:
        FaultyProfile: it cannot be read or is not TOML.
    """
    line = None
    try:
        text = path.read_text(encoding=ENCODING)
        return ProfileFile(path, tomli.loads(text), key_lines(text))
    except UnicodeDecodeError:
        what = "not UTF-8 text"
    except tomli.TOMLDecodeError as error:
        line = error.lineno
        what = f"not valid TOML: {error.msg}, column {error.colno}"
    except ValueError as error:  # a number of thousands of digits
        what = f"not valid TOML: {error}"
    except RecursionError:
        what = "nested too deeply"
    except OSError as error:
        what = error.strerror or str(error)
    raise FaultyProfile(Fault(path, line, what))
