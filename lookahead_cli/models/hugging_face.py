"""How the Hugging Face libraries behave inside this tool: silent, no telemetry, and no network unless asked for."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from lookahead_cli.library_messages import is_debugging

PIECE = 1 << 18
"""Bytes: on a line that brings a megabyte a second, a quarter of a second."""


def silence_hub() -> None:
    """Keep the hub library's own progress bars, warnings and telemetry away. Call it before using it; cheap to repeat.

    The user's terminal shows our progress and one sentence per error; everything else there would be noise.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not is_debugging():
        from huggingface_hub.utils.logging import set_verbosity

        set_verbosity(logging.ERROR)


def silence() -> None:
    """The same for the hub library and transformers, whose import takes seconds."""
    silence_hub()
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    import transformers

    transformers.utils.logging.disable_progress_bar()
    if not is_debugging():
        transformers.utils.logging.set_verbosity(logging.CRITICAL)  # what matters reaches us as an exception


@contextmanager
def offline() -> Iterator[None]:
    """No request leaves the machine inside: the in-process form of the environment variable HF_HUB_OFFLINE.

    The variable itself is read once, at import, and would forbid a later first download in the same process.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def small_pieces() -> Iterator[None]:
    """Files are downloaded inside in pieces of a size that takes moments, so that Ctrl-C is heard and a bar moves."""
    from huggingface_hub import constants

    before = constants.DOWNLOAD_CHUNK_SIZE
    constants.DOWNLOAD_CHUNK_SIZE = PIECE
    try:
        yield
    finally:
        constants.DOWNLOAD_CHUNK_SIZE = before
