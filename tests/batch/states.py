"""Every state in which a program that is killed can leave a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import lookahead_cli

PACKAGE = str(Path(lookahead_cli.__file__).parent)

Files = dict[str, bytes]
"""By their path in the folder."""


def files_in(folder: Path) -> Files:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def put(folder: Path, files: Files) -> None:
    """Make `folder` hold these files."""
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def states_while(folder: Path, action: Callable[[], object]) -> list[Files]:
    """What was in `folder` before each line that this package has run, where it had changed."""
    states = [files_in(folder)]

    def look(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and (found := files_in(folder)) != states[-1]:
            states.append(found)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        action()
    finally:
        sys.settrace(before)
    states.append(files_in(folder))
    return states
