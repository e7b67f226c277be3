"""What a model would be run with on this machine, and why, by the rules that loading follows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from lookahead_cli.models.devices import choose_device, half_precision, name_of, present_devices, transformers_dtype
from lookahead_cli.models.facts import config_facts, stored_weights
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.lean import fourbit
from lookahead_cli.models.lean.architecture import NotLean
from lookahead_cli.models.loading import SPREAD, lean_architecture, lean_dtype, read_lean
from lookahead_cli.models.needs import lean_needs, transformers_needs
from lookahead_cli.models.presence import Absent, find_present
from lookahead_cli.session import wish_for

if TYPE_CHECKING:
    from lookahead_cli.models.lean.architecture import Architecture
    from lookahead_cli.models.loading import Wish
    from lookahead_cli.profile import ModelSettings

ASKED = "as asked for"
THREADS_VARIABLE = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Chosen:
    """One of the things to be chosen."""

    name: str
    why: str
    """In words."""

    @property
    def is_asked(self) -> bool:
        """Whether the settings left no choice."""
        return self.why.startswith(ASKED)


@dataclass(frozen=True)
class ModelChoice:
    """What is settled before a model is loaded."""

    source: str
    folder: Path | None
    """Where it lies ready; None if the first use has to prepare it."""
    absence: str | None
    """A sentence about that."""
    device: Chosen
    threads: Chosen
    runner: Chosen | None
    """None until the model is here; the same for the following."""
    dtype: Chosen | None
    weights: Chosen | None
    memory: int | None
    """Bytes of the weights as they will be computed with."""


def choose(model: ModelSettings) -> ModelChoice:
    """What `load` would do. Sets the number of threads, on which some of it depends.

    Raises:
        ModelError: the model cannot be used, or not as asked.
    """
    threads = chosen_threads(model)
    device, why = chosen_device(model.device)
    allow = frozenset(model.allow)
    found = find_present(model.source, model.revision, allow)
    place = Chosen(model.device if model.device == SPREAD else str(device), why)
    if isinstance(found, Absent):
        return ModelChoice(model.source, None, found.why, place, threads, None, None, None, None)
    wish = wish_for(model, found, context_length=None, allow=allow)
    files = check_folder(found, allow)
    architecture = lean_architecture(found, wish, files)
    if architecture is None:
        runner = Chosen("transformers", why_transformers(found, wish, files))
        dtype = transformers_dtype(wish.dtype, device)
        dtype_chosen = Chosen(name_of(dtype), why_transformers_dtype(wish.dtype, device))
        weights = Chosen("full", "transformers computes with all weights in one dtype")
        size: int | None = transformers_bytes(found, wish, files)
    else:
        runner = Chosen("lean", why_lean(found, wish))
        dtype, dependent = lean_dtype(architecture, wish.dtype, device)
        dtype_chosen = Chosen(name_of(dtype), why_lean_dtype(architecture, wish.dtype, dtype, device, dependent))
        weights = chosen_weights(wish, dtype, device)
        size = lean_needs(architecture, wish, wish.keep_in).weight_bytes
    return ModelChoice(model.source, found, None, place, threads, runner, dtype_chosen, weights, size)


def chosen_threads(model: ModelSettings) -> Chosen:
    """CPU threads, set from here on."""
    if model.threads != "auto":
        torch.set_num_threads(model.threads)
        return Chosen(str(model.threads), ASKED)
    number = str(torch.get_num_threads())
    if os.environ.get(THREADS_VARIABLE):
        return Chosen(number, f"the variable {THREADS_VARIABLE} says so")
    return Chosen(number, "torch takes one for each core that it may use")


def chosen_device(asked: str) -> tuple[torch.device, str]:
    """The device and why it is that."""
    if asked == SPREAD:
        return choose_device("auto"), f"{ASKED}, over {', '.join(present_devices())}"
    device = choose_device(asked)
    if asked != "auto":
        return device, ASKED
    if device.type == "cpu":
        return device, "torch finds no other device"
    return device, "it is the fastest device that torch finds"


def why_transformers(folder: Path, wish: Wish, files: list[Path]) -> str:
    """What keeps the lean runner from taking the model."""
    try:
        read_lean(read_json(folder / "config.json"), wish, files)
    except NotLean as reason:
        return f"the lean runner does not take it: {reason}"
    return ASKED


def why_lean(folder: Path, wish: Wish) -> str:
    kind = read_json(folder / "config.json").get("model_type")
    return ASKED if wish.runner == "lean" else f"its architecture, {kind}, is one that the lean runner computes"


def why_transformers_dtype(asked: str, device: torch.device) -> str:
    if asked != "auto":
        return ASKED
    if device.type == "cpu":
        return "with transformers a near tie can fall differently in half precision, and float32 keeps the tokens"
    return f"half precision is fast on {device}"


def why_lean_dtype(
    architecture: Architecture, asked: str, dtype: torch.dtype, device: torch.device, dependent: str | None
) -> str:
    """Why this dtype; `dependent` is what is wrong with it."""
    if asked != "auto":
        return ASKED if dependent is None else f"{ASKED}, though in it {dependent}"
    fast = half_precision(device)
    if dtype != fast:
        _, reason = lean_dtype(architecture, name_of(fast), device)
        return f"in {name_of(fast)} {reason}"
    if device.type != "cpu":
        return f"half precision is fast on {device}"
    if dtype == torch.float32:
        return "this processor does not multiply bfloat16, so that half precision would be slower"
    return "this processor multiplies bfloat16, and every strategy gives the same tokens in it"


def chosen_weights(wish: Wish, dtype: torch.dtype, device: torch.device) -> Chosen:
    """Whether weights that have 4 bits are computed with as such."""
    if wish.weights == "full":
        return Chosen("full", ASKED)
    if fourbit.can_run(dtype, device):
        return Chosen("stored", "weights that were stored in 4 bits are computed with as such, others in the dtype")
    if device.type != "cpu":
        return Chosen("full", f"the kernel for 4 bits is one for processors, and the model runs on {device}")
    if dtype != torch.bfloat16:
        return Chosen("full", f"the kernel for 4 bits works with bfloat16, and the model runs in {name_of(dtype)}")
    return Chosen("full", "the kernel for 4 bits is fast with AVX512 only")


def transformers_bytes(folder: Path, wish: Wish, files: list[Path]) -> int:
    """Memory for the weights; what their files take, where those cannot be looked into or hold packed weights."""
    config = read_json(folder / "config.json")
    needs = transformers_needs(config_facts(config, stored_weights(files)), config, wish)
    return needs.weight_bytes or sum(file.stat().st_size for file in files)
