"""Sizes, counts and times in the few digits a reader wants."""

from __future__ import annotations

THOUSAND = 1000
_TIMES = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def shown_bytes(size: float) -> str:
    """ "541 MB": decimal units, three digits or so."""
    return _scaled(size, ("bytes", "kB", "MB", "GB", "TB", "PB"))


def shown_count(count: int) -> str:
    """ "135 M": thousands, millions, billions as models are told by."""
    return _scaled(count, ("", "K", "M", "B", "T")).rstrip()


def shown_ago(seconds: float) -> str:
    """ "3 days ago"."""
    for length, unit in _TIMES:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def _scaled(number: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        # What would be rounded up to four digits goes by the next unit.
        if round(number, 1 if number < 10 else 0) < THOUSAND:
            whole = unit == units[0] or round(number, 1) >= 10
            return f"{number:.0f} {unit}" if whole else f"{number:.1f} {unit}"
        number /= THOUSAND
    return f"{number:.1f} {units[-1]}"
