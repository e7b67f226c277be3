"""A folder with a text file for each result, under a name made from its id."""

from __future__ import annotations

import re
import stat
import tempfile
import unicodedata
from pathlib import Path

from lookahead_cli.batch.result_lines import digest_of
from lookahead_cli.errors import ProfileError
from lookahead_cli.line_file import not_written
from lookahead_cli.models.whole_file import written_whole

ENDING = ".txt"
MOST_BYTES = 100
"""Of the part of a name that comes from the id. File systems allow 255 in all."""
HASH_DIGITS = 16
"""At 8, two in a hundred thousand long ids that begin alike would be likely to meet."""
FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
"""What Windows allows in no name, and so what separates folders anywhere."""
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)", re.IGNORECASE)
"""Devices on Windows, with any ending."""
HASHED = re.compile(rf"-[0-9a-f]{{{HASH_DIGITS}}}$")


def safe_name(id: str, *, ignores_case: bool = False) -> str:
    """A name, without ending, that no other id gets and every file system takes: the id itself if it is one.

    `ignores_case`: the file system takes "A" and "a" for the same.
    """
    plain = unicodedata.normalize("NFC", id)  # macOS takes all ways to write an "é" for the same
    plain = "".join("_" if is_unseen(character) else character for character in plain)
    plain = FORBIDDEN.sub("_", plain)
    plain = plain.encode()[:MOST_BYTES].decode(errors="ignore")
    plain = plain.lstrip(".").rstrip(". ")
    if not plain or RESERVED.match(plain):
        plain = f"_{plain}"
    is_own = plain == id and not HASHED.search(id) and not (ignores_case and id != id.casefold())
    return plain if is_own else f"{plain}-{hash_of(id)}"


def is_unseen(character: str) -> bool:
    """Whether it is a control or formatting character, half of a pair, or a space other than the plain one."""
    return character != " " and unicodedata.category(character)[0] in "CZ"


def hash_of(id: str) -> str:
    return digest_of(id).hex()[:HASH_DIGITS]


class TextFiles:
    """The folder. Links in it are written over, never through."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it is missing.

        Raises:
            ProfileError: it cannot be made or takes no files.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(prefix="lookahead-", dir=folder) as file:
                self.ignores_case = (folder / Path(file.name).name.upper()).exists()
        except OSError as error:
            raise ProfileError(
                f"option --out-dir: {folder} cannot be written: {error.strerror or error}; name a folder that can"
            ) from None

    def path_of(self, id: str) -> Path:
        return self.folder / f"{safe_name(id, ignores_case=self.ignores_case)}{ENDING}"

    def has(self, id: str) -> bool:
        """Whether there is a file for it; a link is none."""
        try:
            return stat.S_ISREG(self.path_of(id).lstat().st_mode)
        except OSError:
            return False

    def write(self, id: str, text: str) -> None:
        """Exactly the text, no newline added. Nobody meets half a file.

        Raises:
            ResourceError: it cannot be written.
        """
        path = self.path_of(id)
        try:
            with written_whole(path) as unfinished:
                unfinished.unlink(missing_ok=True)  # left by a process of the same number that was killed; or a link
                with unfinished.open("xb") as file:
                    file.write(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise not_written(path, error) from None
