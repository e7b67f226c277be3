"""Files that a contest is to leave behind, checked before minutes are spent on it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lookahead_cli.errors import ProfileError

PLOT_ENDINGS = (".svg", ".png")


@dataclass(frozen=True)
class Outputs:
    """Where to write what; None: nowhere."""

    records: Path | None = None
    csv: Path | None = None
    plot: Path | None = None
    resume: bool = False
    """Whether a file of records that is there is to be continued."""

    @property
    def resumes(self) -> bool:
        """Whether there is one."""
        return self.resume and self.records is not None and self.records.exists()

    def check(self) -> None:
        """Raise ProfileError if something could not be written, or would be lost."""
        if self.resume and self.records is None:
            raise ProfileError("option --resume: there is nothing to resume from; name the file with --output")
        if self.plot is not None:
            check_plot(self.plot)
        files = {"--output": self.records, "--csv": self.csv, "--plot": self.plot}
        named = {flag: file for flag, file in files.items() if file is not None}
        if len({os.path.realpath(file) for file in named.values()}) < len(named):
            raise ProfileError(f"options {' and '.join(named)}: each needs a file of its own")
        for flag, file in named.items():
            check_writable(flag, file)
            if flag != "--plot" and file.exists() and not self.resume:
                raise ProfileError(
                    f"option {flag}: {file} is there already; give another name, or go on with --output FILE --resume"
                )


def check_plot(file: Path) -> None:
    """Raise ProfileError if it cannot be drawn."""
    if file.suffix.lower() not in PLOT_ENDINGS:
        raise ProfileError(f"option --plot: {file} must end in {' or '.join(PLOT_ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise ProfileError("option --plot: matplotlib draws it and is missing; pip install 'lookahead-cli[plot]'")


def check_writable(flag: str, file: Path) -> None:
    """Raise ProfileError if it is a folder or a device, or its folder takes no files."""
    try:
        if file.exists() and not file.is_file():
            raise ProfileError(f"option {flag}: {file} is not a file; give the name of one")
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise ProfileError(f"option {flag}: {file} cannot be written: {error.strerror or error}") from None
