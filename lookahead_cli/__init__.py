"""Lookahead decoding for local language models: several tokens per forward pass, never a different token.

    import lookahead_cli as lookahead

    session = lookahead.open_session(lookahead.load_settings("code"))
    for event in session.generate("def fibonacci(n):"):
        if isinstance(event, lookahead.StepEvent):
            print(event.text, end="", flush=True)

Everything is imported when first used, so that `import lookahead_cli` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lookahead_cli.decoding.events import Event, PrefillEvent, StepEvent
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.errors import LookaheadError
    from lookahead_cli.layers import load_settings
    from lookahead_cli.session import Session, open_session

_HOMES = {
    "Event": "decoding.events",
    "Generation": "decoding.generation",
    "LookaheadError": "errors",
    "PrefillEvent": "decoding.events",
    "Session": "session",
    "StepEvent": "decoding.events",
    "load_settings": "layers",
    "open_session": "session",
}

__all__ = [
    "Event",
    "Generation",
    "LookaheadError",
    "PrefillEvent",
    "Session",
    "StepEvent",
    "__version__",
    "load_settings",
    "open_session",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"lookahead_cli.{_HOMES[name]}"), name)
