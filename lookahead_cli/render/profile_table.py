"""Profiles on a screen, in a pipe and as JSON: which there are, what one means, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from lookahead_cli.layers import Origin, Resolved
from lookahead_cli.profile import SECTIONS, profile_folders
from lookahead_cli.profile_file import Fault, told_place
from lookahead_cli.render.palette import ACCEPTED, BAD, NOTE
from lookahead_cli.text.visible import visible
from lookahead_cli.toml_text import toml_comment, toml_value

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lookahead_cli.profile_listing import ListedProfile

WIDEST_VALUE = 44
"""Columns of key and value up to which origins stand below each other."""
DEFAULT = "default"


def profile_tables(profiles: Sequence[ListedProfile]) -> list[RenderableType]:
    """For each folder its path and a table, a line for each profile; those that a bare name does not mean are dim."""
    shown: list[RenderableType] = []
    for folder in sorted(dict.fromkeys(profile.file.parent for profile in profiles), key=profile_folders().index):
        # Not the title of the table: that would be broken to its width, which may be less than a path needs.
        shown.append(Text(visible(str(folder.absolute())), style="bold"))
        shown.append(profile_table([profile for profile in profiles if profile.file.parent == folder]))
    return shown


def profile_table(profiles: Sequence[ListedProfile]) -> Table:
    """Those in one folder."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("profile", "model", "what it is"):
        table.add_column(heading, overflow="fold")
    for profile in profiles:
        told = Text(visible(profile.about))
        for remark in remarks(profile):
            told.append(f"{' ' if told else ''}({visible(remark)})", style=BAD if profile.fault else NOTE)
        style = "dim" if profile.shadowed_by else "bold" if profile.is_default else ""
        table.add_row(visible(profile.name), visible(profile.model or ""), told, style=style)
    return table


def profile_line(profile: ListedProfile) -> str:
    """The same for other programs: name, model, file and remarks, with tabs between."""
    parts = (profile.name, profile.model or "", str(profile.file), "; ".join(remarks(profile)))
    return "\t".join(toml_comment(part) for part in parts)


def remarks(profile: ListedProfile) -> list[str]:
    """What sets a profile apart from an ordinary one."""
    found = []
    if profile.is_default:
        found.append("used when none is named")
    if profile.shadowed_by is not None:
        found.append(f"the name means {profile.shadowed_by}")
    if profile.fault is not None:
        found.append(f"faulty: {profile.fault}")
    return found


def listed_object(profiles: Sequence[ListedProfile], folders: Sequence[Path]) -> dict[str, Any]:
    """The same as plain dicts and lists. Keys may be added, none changes or goes."""
    return {
        "folders": [str(folder) for folder in folders],
        "profiles": [
            {
                "name": profile.name,
                "file": str(profile.file),
                "model": profile.model,
                "about": profile.about,
                "default": profile.is_default,
                "shadowed_by": None if profile.shadowed_by is None else str(profile.shadowed_by),
                "fault": profile.fault,
            }
            for profile in profiles
        ],
    }


def settings_lines(resolved: Resolved) -> list[Text]:
    """The settings as a profile that would mean them, with the origin of every value in a comment."""
    rows = [
        (section, key, f"{key} = {toml_value(getattr(getattr(resolved.settings, section), key))}")
        for section, keys in SECTIONS.items()
        for key in keys.model_fields
    ]
    width = min(max(len(assignment) for _, _, assignment in rows), WIDEST_VALUE)
    lines = [Text(f"# profile {toml_comment(str(resolved.profile))}", style="dim")]
    for place, (section, key, assignment) in enumerate(rows):
        if place == 0 or rows[place - 1][0] != section:
            lines += [Text(), Text(f"[{section}]", style="bold")]
        origin = resolved.origins.get((section, key))
        line = Text(assignment.ljust(width), style="dim" if origin is None else "")
        line.append(f"  # {toml_comment(told_origin(origin))}", style="dim" if origin is None else ACCEPTED)
        lines.append(line)
    return lines


def told_origin(origin: Origin | None) -> str:
    """Where a value came from, in a few words: the file is named by its last part."""
    if origin is None:
        return DEFAULT
    return told_place(Path(Path(origin.name).name), origin.line) if origin.layer == "profile" else origin.place


def settings_object(resolved: Resolved) -> dict[str, Any]:
    """The same as plain dicts. Keys may be added, none changes or goes."""
    values = resolved.settings.model_dump(mode="json")
    return {
        "profile": str(resolved.profile),
        "settings": {
            section: {
                key: {"value": value, "origin": origin_object(resolved.origins.get((section, key)))}
                for key, value in table.items()
            }
            for section, table in values.items()
        },
    }


def origin_object(origin: Origin | None) -> dict[str, Any]:
    """Layer, and where in it."""
    if origin is None:
        return {"layer": DEFAULT}
    if origin.layer == "profile":
        return {"layer": origin.layer, "file": origin.name, "line": origin.line}
    return {"layer": origin.layer, "name": origin.name.removeprefix("option ")}


def checked_lines(file: Path, faults: Sequence[Fault]) -> list[str]:
    """A line for each fault, or one that says there is none."""
    return [visible(str(fault)) for fault in faults] or [visible(f"{file}: fine")]


def checked_object(checked: Sequence[tuple[Path, Sequence[Fault]]]) -> dict[str, Any]:
    """The same as plain dicts and lists. Keys may be added, none changes or goes."""
    return {
        "files": [
            {"file": str(file), "faults": [{"line": fault.line, "fault": fault.what} for fault in faults]}
            for file, faults in checked
        ]
    }
