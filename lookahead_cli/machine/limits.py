"""What a container or a scheduler leaves of the machine: the limits of this process's control groups (Linux)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("proc/self/cgroup")
MOUNT = Path("sys/fs/cgroup")
NO_LIMIT = 2**60
"""The first version writes an astronomically large number of bytes where there is no limit."""


@dataclass(frozen=True)
class Limits:
    """None where there is no limit."""

    cores: float | None = None
    """CPU time per time."""
    memory: int | None = None
    """Bytes."""
    memory_left: int | None = None
    """Of these, what has not been taken, counting as free what the system would give back at once."""


def read_limits(root: Path = Path("/")) -> Limits:
    """The narrowest limits of all groups that this process is in; none where the system does not say."""
    groups = _groups(root)
    cores = [cores for folder in _folders(root, groups, "cpu") if (cores := _cores(folder)) is not None]
    memory = [limit for folder in _folders(root, groups, "memory") if (limit := _memory(folder)) is not None]
    return Limits(
        cores=min(cores, default=None),
        memory=min((limit for limit, _ in memory), default=None),
        memory_left=min((max(limit - used, 0) for limit, used in memory), default=None),
    )


def _groups(root: Path) -> dict[str, str]:
    """By controller the path of its group; "" stands for all controllers of the second version."""
    groups: dict[str, str] = {}
    for line in _text(root / GROUPS).splitlines():
        parts = line.split(":", 2)
        if len(parts) == len(("number", "controllers", "path")):
            groups |= dict.fromkeys(parts[1].split(","), parts[2])
    return groups


def _folders(root: Path, groups: dict[str, str], controller: str) -> Iterator[Path]:
    """Where the group of a controller and all around it are described, as far as they can be seen from here."""
    mount = root / MOUNT
    for name, homes in ((controller, [mount / controller, mount / "cpu,cpuacct"]), ("", [mount, mount / "unified"])):
        if name not in groups:
            continue
        path = Path(groups[name].lstrip("/"))
        for home in homes:
            if home.is_dir():
                yield from (home / inner for inner in (path, *path.parents))


def _cores(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
    try:
        allowed = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max"
        return None
    return allowed if allowed > 0 else None


def _memory(folder: Path) -> tuple[int, int] | None:
    """Limit and use."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most, taken = int(_text(folder / limit)), int(_text(folder / used))
        except ValueError:
            continue
        if most >= NO_LIMIT:
            return None
        counts = dict(line.split(" ", 1) for line in _text(folder / "memory.stat").splitlines() if " " in line)
        return most, taken - int(counts.get(cached, "0"))
    return None


def _text(file: Path) -> str:
    """What is in it; nothing where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
