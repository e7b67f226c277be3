"""How a model would be run, found out without loading it: by which runner, and with which strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal

from lookahead_cli.knowledge.obstacles import kept_obstacles
from lookahead_cli.models.lean.architecture import NotLean
from lookahead_cli.models.loading import Wish, read_lean

_RUNNING_STATE_LAYERS = {"hybrid", "hybrid_sliding", "linear_attention", "mamba", "recurrent"}
"""Among the `layer_types` of a config.json: layers that keep a running state, so that guesses cannot be taken back."""
_RUNNING_STATE_MODELS = {
    "bamba",
    "falcon_h1",
    "falcon_mamba",
    "granitemoehybrid",
    "jamba",
    "kimi_linear",
    "mamba",
    "mamba2",
    "minimax",
    "nemotron_h",
    "olmo_hybrid",
    "qwen3_next",
    "recurrent_gemma",
    "rwkv",
    "zamba",
    "zamba2",
}
"""Model types of which that is known though their config.json may not list the layers."""

Strategies = Literal["all", "chains only", "greedy only", "not tried"]
"""Which of them do something with a model: all; those too that branch, but in a chain; only `greedy`; not yet known."""


@dataclass(frozen=True)
class Plan:
    """How a model would be run."""

    runner: Literal["lean", "transformers"]
    why_not_lean: str
    """Words that follow "because"; empty if it is lean."""
    strategies: Strategies
    why: str = ""
    """Why not all of them."""


def plan(config: Mapping[str, Any], weights: Sequence[PurePath], wish: Wish, knowledge: Path | None) -> Plan:
    """For the model with this config.json and these weight files. `knowledge` is its knowledge folder."""
    why_not_lean = _why_not_lean(config, weights, wish)
    if why_not_lean is None:
        return Plan("lean", "", "all")
    strategies, why = _strategies(config, knowledge)
    return Plan("transformers", why_not_lean, strategies, why)


def _why_not_lean(config: Mapping[str, Any], weights: Sequence[PurePath], wish: Wish) -> str | None:
    if wish.runner == "transformers":
        return 'runner is set to "transformers"'
    try:
        read_lean(config, wish, weights)
    except NotLean as reason:
        return str(reason)
    return None


def _strategies(config: Mapping[str, Any], knowledge: Path | None) -> tuple[Strategies, str]:
    found = None if knowledge is None else kept_obstacles(knowledge)
    if found is not None:
        if found.rewind:
            return "greedy only", f"guesses cannot be taken back: {found.rewind}"
        return ("chains only", f"guesses cannot branch: {found.tree}") if found.tree else ("all", "")
    text = config.get("text_config")
    told = {**config, **text} if isinstance(text, Mapping) else config
    kinds = told.get("layer_types")
    running = [kind for kind in kinds if str(kind) in _RUNNING_STATE_LAYERS] if isinstance(kinds, list) else []
    if running or {str(told.get("model_type")), str(config.get("model_type"))} & _RUNNING_STATE_MODELS:
        which = f"layers of the kind {running[0]} keep" if running else f"{config.get('model_type')} keeps"
        return "greedy only", f"guesses cannot be taken back: {which} a running state"
    return "not tried", "the first run finds out whether guesses may branch"
