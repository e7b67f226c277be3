"""Which versions of what are at work, without importing it."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib import metadata

from lookahead_cli import __version__

LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "huggingface-hub")
VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES",
    "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE",
)  # fmt: skip
"""Beside our own: those that change what a run does. None of them is a secret."""


def read_versions() -> dict[str, str | None]:
    """By name; None for what is not installed."""
    versions: dict[str, str | None] = {"lookahead": __version__, "Python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = None
    return versions


def variables_in_force(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment variables that have a say."""
    environ = os.environ if environ is None else environ
    own = sorted(name for name in environ if name.startswith("LOOKAHEAD_"))
    return {name: environ[name] for name in (*own, *VARIABLES) if environ.get(name)}
