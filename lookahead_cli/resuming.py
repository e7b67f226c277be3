"""Going on with what an earlier run has left: whether it was the same run, and sentences for why it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookahead_cli.errors import ProfileError


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say in one sentence why there is no going on with `path`."""
    try:
        yield
    except OSError as error:
        raise ProfileError(f"option --resume: {path} cannot be used: {error.strerror or error}") from None
    except ValueError as error:
        raise ProfileError(f"option --resume: {path} {error}") from None


def differences(found: Any, wanted: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two nests of dicts are not the same: the keys joined by dots, and the two values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in {**wanted, **found}:
            yield from differences(found.get(name), wanted.get(name), f"{key}.{name}".removeprefix("."))
    elif found != wanted:
        yield key, found, wanted
