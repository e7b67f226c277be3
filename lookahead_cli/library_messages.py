"""What libraries say on their own: nothing, on the user's screen. What matters of it reaches us as an exception."""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any

DEBUG_VARIABLE = "LOOKAHEAD_DEBUG"
"""Set it to hear libraries, and to see the traceback of an error nobody has thought of."""

UNHEARD = {
    "HF_HUB_VERBOSITY": "critical",
    "KMP_WARNINGS": "off",
    "TOKENIZERS_PARALLELISM": "true",  # as it is without, but then a process that forks is warned of it
    "TORCH_CPP_LOG_LEVEL": "FATAL",
    "TRANSFORMERS_VERBOSITY": "critical",
}
"""Variables that libraries read when they are imported, for what they say past Python's logs and warnings."""


def is_debugging() -> bool:
    """Whether somebody wants to hear everything."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def silence_libraries() -> None:
    """Keep logs and warnings off the screen for as long as this process lives, unless somebody is debugging.

    Levels and filters would not do: libraries set their own when they are imported.
    """
    if is_debugging():
        return
    for name, value in UNHEARD.items():
        os.environ.setdefault(name, value)
    logging.disable(logging.CRITICAL)
    warnings.showwarning = _unheard


def _unheard(*warning: Any, **more: Any) -> None:
    pass
