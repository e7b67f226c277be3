"""What a user could do, or should know, about this machine: whole sentences, made from a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookahead_cli.machine.processor import Processor
    from lookahead_cli.machine.report import Report

GB = 1e9
LITTLE_MEMORY = 2e9
"""Bytes that should be free beside the weights."""
LITTLE_DISK = 2e9
"""Bytes that preparing even a small model may take."""
BUSY_SHARE = 0.4
"""Load average over usable cores from which others are in the way."""
FEW_THREADS_SHARE = 0.5
"""Threads over usable cores below which there may be more to gain: many systems count two for each real core."""
NO_GAIN = 1.02
"""Speed of lookahead over greedy that is worth no mention."""


def advice(report: Report) -> list[str]:
    """One sentence for each thing, the most important ones first."""
    return [
        *about_the_model(report),
        *about_memory(report),
        *about_devices(report),
        *about_threads(report),
        *about_load(report),
        *about_folders(report),
        *about_variables(report),
        *about_speed(report),
    ]


def about_the_model(report: Report) -> Iterator[str]:
    model = report.model
    if model is None:
        return
    if model.absence is not None:
        yield (
            f'{model.absence}; `lookahead generate -p "hello" -m {model.source}` does it now, and then the speed can '
            "be checked"
        )
    on_processor = model.device.name == "cpu"
    if model.dtype is not None and model.dtype.name == "float32" and on_processor and not model.dtype.is_asked:
        yield f"float32 is used: {model.dtype.why}"
    if model.runner is not None and model.runner.name == "transformers" and not model.runner.is_asked:
        yield f"transformers runs the model, which is slower than the lean runner: {model.runner.why}"
    yield from report.notices


def about_memory(report: Report) -> Iterator[str]:
    memory, model = report.memory, report.model
    if memory is None:
        return
    needed = model.memory if model is not None and model.device.name == "cpu" else None
    # What a measured model takes has been taken by now: free memory was read before.
    if needed is not None and needed > memory.free:
        yield (
            f"the weights take {needed / GB:.1f} GB, but only {memory.free / GB:.1f} GB of memory are free: choose a "
            "smaller model or dtype, or close other programs"
        )
    elif memory.free - (needed or 0) < LITTLE_MEMORY:
        beside = "" if needed is None else f" and the weights take {needed / GB:.1f} GB of it"
        yield (
            f"only {memory.free / GB:.1f} GB of memory are free{beside}: a batch, a long text or a larger model may "
            "find too little"
        )


def about_devices(report: Report) -> Iterator[str]:
    if report.idle_nvidia:
        torch = report.versions.get("torch")
        yield f"there is an NVIDIA GPU, but this torch ({torch}) cannot use it: install one that is built for CUDA"
    if report.accelerators and report.model is not None and report.model.device.name == "cpu":
        first = report.accelerators[0]
        yield f"the model runs on the processor, though there is {first.device} ({first.name}): --device {first.device}"


def about_threads(report: Report) -> Iterator[str]:
    processor, model = report.processor, report.model
    if processor is None or model is None or model.device.name != "cpu":
        return
    threads = int(model.threads.name)
    if threads > processor.usable:
        fewer = max(1, int(processor.usable))
        yield (
            f"threads={threads}, but only {cores(processor.usable)} can be used: they wait for each other; "
            f"--threads {fewer} is faster"
        )
    elif threads < FEW_THREADS_SHARE * processor.usable:
        yield (
            f"threads={threads} of {cores(processor.usable)} ({model.threads.why}): more may be faster, try --threads "
            f"{int(processor.usable)}"
        )


def about_load(report: Report) -> Iterator[str]:
    processor = report.processor
    if processor is not None and is_busy(processor):
        yield (
            f"other programs keep the machine busy (load average {processor.load:.1f} on {cores(processor.cores)}): "
            "everything takes longer, and measured speeds are too low"
        )


def is_busy(processor: Processor) -> bool:
    """Whether other programs are in the way."""
    return processor.load is not None and processor.load > BUSY_SHARE * processor.cores


def about_folders(report: Report) -> Iterator[str]:
    if report.cache is not None and report.cache.free < LITTLE_DISK:
        yield (
            f"only {report.cache.free / GB:.1f} GB are free on the disk of the cache folder: converting a GGUF file "
            "takes several times its size; set LOOKAHEAD_CACHE to another disk"
        )
    if report.hub_offline:
        yield "HF_HUB_OFFLINE is set: of the hub only models that are in its cache can be used, nothing is downloaded"


def about_variables(report: Report) -> Iterator[str]:
    from lookahead_cli.layers import misspelt_variables

    for name, meant in misspelt_variables(report.variables).items():
        yield f"the variable {name} is none of ours and sets nothing: {meant} was probably meant"


def about_speed(report: Report) -> Iterator[str]:
    speed = report.speed
    if speed is None:
        return
    if not speed.same_tokens:
        yield (
            "lookahead and greedy gave different tokens here, as can happen in half precision where rows depend on "
            "their neighbours: --dtype float32 keeps them the same"
        )
    if speed.lookahead is not None and speed.greedy.tokens_per_second:
        gain = speed.lookahead.tokens_per_second / speed.greedy.tokens_per_second
        busy = report.processor is not None and is_busy(report.processor)
        if gain < NO_GAIN and not busy:  # else that is the reason
            yield f"guesses brought nothing on this check's text ({gain:.2f}x): that depends on the text, try your own"


def cores(number: float) -> str:
    """ "1 core", "2 cores", "1.5 cores"."""
    return f"{number:g} core{'' if number == 1 else 's'}"
