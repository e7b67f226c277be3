"""All that is to be found out about a machine and a model on it; what cannot be is told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lookahead_cli.errors import LookaheadError
from lookahead_cli.models.failures import first_line

if TYPE_CHECKING:
    from pathlib import Path

    from lookahead_cli.machine.accelerators import Accelerator, Instructions
    from lookahead_cli.machine.choice import ModelChoice
    from lookahead_cli.machine.memory import Memory
    from lookahead_cli.machine.processor import Processor
    from lookahead_cli.machine.speed import Speed
    from lookahead_cli.machine.storage import Storage
    from lookahead_cli.models.progress import Progress
    from lookahead_cli.profile import Settings

Found = TypeVar("Found")


@dataclass
class Report:
    """None where something could not be found out: then a sentence among `unknown` or `problems` says why."""

    profile: Path
    platform: str | None = None
    versions: dict[str, str | None] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    processor: Processor | None = None
    instructions: Instructions | None = None
    memory: Memory | None = None
    accelerators: list[Accelerator] | None = None
    idle_nvidia: bool = False
    """Whether there is a GPU that this torch cannot use."""
    cache: Storage | None = None
    hub_cache: Storage | None = None
    hub_offline: bool = False
    model: ModelChoice | None = None
    speed: Speed | None = None
    no_speed: str | None = None
    """Why the speed was not measured, in a sentence."""
    notices: list[str] = field(default_factory=list)
    """What there is to know about how the loaded model is run."""
    unknown: list[str] = field(default_factory=list)
    """What could not be found out."""
    problems: list[str] = field(default_factory=list)
    """What keeps the tool from working."""

    def ask(self, what: str, probe: Callable[[], Found]) -> Found | None:
        """What `probe` finds; if it fails, that is noted, and `what` is what could not be found out."""
        try:
            return probe()
        except Exception as error:  # whatever a strange machine makes of it
            self.unknown.append(f"{what} could not be found out: {first_line(error)}")
            return None


def examine(settings: Settings, profile: Path, with_speed: bool, progress: Progress) -> Report:
    """Find out everything. Never raises for what is wrong with the machine or the model."""
    report = Report(profile)
    look_at_machine(report)
    progress("loading torch")
    if look_at_torch(report):
        progress("looking at the model")
        look_at_model(report, settings)
        if with_speed:
            look_at_speed(report, settings, progress)
        else:
            report.no_speed = "it was not asked for"
    return report


def look_at_machine(report: Report) -> None:
    """What can be told without torch."""
    import platform

    from lookahead_cli.machine.memory import read_memory
    from lookahead_cli.machine.processor import read_processor
    from lookahead_cli.machine.storage import hub_is_offline, read_cache, read_hub_cache
    from lookahead_cli.machine.versions import read_versions, variables_in_force

    report.platform = report.ask("the system", platform.platform)
    report.versions = report.ask("the versions", read_versions) or {}
    report.variables = report.ask("the variables", variables_in_force) or {}
    report.processor = report.ask("the processor", read_processor)
    report.memory = report.ask("the memory", read_memory)
    report.cache = report.ask("the cache folder", read_cache)
    report.hub_cache = report.ask("the hub's cache folder", read_hub_cache)
    report.hub_offline = bool(report.ask("whether the hub may be asked", hub_is_offline))
    if report.cache is not None and report.cache.obstacle is not None:
        report.problems.append(
            f"the cache folder {report.cache.folder} is not writable ({report.cache.obstacle}): set LOOKAHEAD_CACHE to "
            "a folder that is"
        )


def look_at_torch(report: Report) -> bool:
    """What torch can use; whether there is a torch at all."""
    try:
        from lookahead_cli.machine.accelerators import has_idle_nvidia, read_accelerators, read_instructions

        read_instructions()
    except Exception as error:
        report.problems.append(f"torch cannot be used ({first_line(error)}): install it again")
        return False
    report.instructions = report.ask("the processor's instructions", read_instructions)
    report.accelerators = report.ask("other devices", read_accelerators)
    report.idle_nvidia = bool(report.ask("whether a GPU lies idle", has_idle_nvidia))
    return True


def look_at_model(report: Report, settings: Settings) -> None:
    """What it would be run with."""
    from lookahead_cli.machine.choice import choose

    try:
        report.model = choose(settings.model)
    except LookaheadError as error:
        report.problems.append(f"the model cannot be used: {error}")
    except Exception as error:
        report.unknown.append(f"what the model would be run with could not be found out: {first_line(error)}")


def look_at_speed(report: Report, settings: Settings, progress: Progress) -> None:
    """Measure it, if the model is ready."""
    from lookahead_cli.machine.speed import measure_speed, open_for_measuring

    if report.model is None or report.model.folder is None:
        report.no_speed = "the model is not here" if report.model is not None else "the model cannot be loaded"
        return
    try:
        session, seconds = open_for_measuring(settings, progress)
    except Exception as error:
        report.no_speed = "the model cannot be loaded"
        report.problems.append(f"the model cannot be loaded: {first_line(error)}")
        return
    report.notices = session.notices
    try:
        report.speed = measure_speed(session, seconds, progress)
    except Exception as error:
        report.no_speed = first_line(error)
