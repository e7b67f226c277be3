"""The runner for every architecture: a transformers model with transformers' own KV cache."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.failures import first_line, memory_failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PREFILL_CHUNK = 512
"""Prompt tokens per forward pass: bounds the memory for activations and the wait until Ctrl-C is heard."""


class TransformersRunner:
    """Runs a model step by step. The cache is asked what it can do; no architecture is known by name."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.device = model.device
        self.vocab = model.get_input_embeddings().num_embeddings
        parameters = inspect.signature(model.forward).parameters
        # The argument was renamed between transformers releases.
        self.cache_argument = "cache" if "cache" in parameters else "past_key_values"
        if self.cache_argument not in parameters:
            raise ModelError(
                f"{type(model).__name__} keeps its state in its own way, not in a transformers cache: "
                "use a model with a KV cache"
            )
        self.last_logits_only: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        # Some models count positions from 0 in every pass unless told.
        self.takes_positions = "position_ids" in parameters
        self.drafted = 0
        self.length = 0
        """Entries in the cache."""
        self.rewind_obstacle: str | None = None
        try:
            self.cache = self._new_cache()
            self.rewind_obstacle = self._find_rewind_obstacle()
        except ResourceError:
            raise
        except Exception as error:
            raise ModelError(
                f"{type(model).__name__} does not run token by token with a transformers cache ({first_line(error)}): "
                "use another model"
            ) from error

    def prefill(self, tokens: Sequence[int]) -> Tensor | None:
        self.cache = self._new_cache()
        self.length = 0
        logits = None
        # A running state may only be carried on token by token: such a model takes its prompt in one piece.
        chunk = PREFILL_CHUNK if self.rewind_obstacle is None else max(len(tokens), 1)
        for start in range(0, len(tokens), chunk):
            logits = self._forward(tokens[start : start + chunk], **self.last_logits_only)[-1]
            self._rewind(0)
        return logits

    def step(self, pending: int, draft: Sequence[int]) -> Tensor:
        self.drafted = len(draft)
        return self._forward([pending, *draft])

    def commit(self, accepted: int) -> None:
        self._rewind(self.drafted - accepted)

    def _forward(self, tokens: Sequence[int], **options: Any) -> Tensor:
        """Logits (n, vocab) float32 for the positions after each of `tokens`, whose entries are added to the cache.

        Raises:
            ResourceError: the memory did not suffice.
        """
        input_ids = torch.tensor([list(tokens)], dtype=torch.long, device=self.device)
        if self.takes_positions:
            options["position_ids"] = torch.arange(self.length, self.length + len(tokens), device=self.device)[None]
        try:
            with torch.inference_mode():
                output = self.model(input_ids=input_ids, use_cache=True, **{self.cache_argument: self.cache}, **options)
        except (MemoryError, RuntimeError) as error:
            lack = memory_failure(
                error, f"a forward pass on {self.device} failed", "shorten the prompt or choose a smaller model or k"
            )
            if lack is not None:
                raise lack from error
            raise
        self.length += len(tokens)
        logits: Tensor = output.logits[0].float()
        return logits

    def _rewind(self, count: int) -> None:
        """Take the last `count` entries out of the cache. Layers that keep a fixed span shrink back to it here."""
        self.length -= count
        if self.rewind_obstacle is None:
            self.cache.crop(-count)
        elif count:
            raise RuntimeError(f"drafts must be empty for this model: {self.rewind_obstacle}")

    def _new_cache(self) -> Any:
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config)
        if self.rewind_obstacle is None:
            # Without this a sliding window forgets what it would need to go back to.
            cache.activate_past_recording()
        return cache

    def _find_rewind_obstacle(self) -> str | None:
        """Ask the cache, after one token: some layers know only then what they hold."""
        self._forward([0])
        obstacles = [
            f"layer {index} ({type(layer).__name__}) keeps a running state that cannot go back"
            for index, layer in enumerate(self.cache.layers)
            if not layer.is_croppable
        ]
        return obstacles[0] if obstacles else None
