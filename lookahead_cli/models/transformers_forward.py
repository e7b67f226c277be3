"""A transformers model as a function of tokens and a cache: how it wants to be called, and who may look at whom."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.errors import ModelError
from lookahead_cli.models.failures import memory_failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TransformersForward:
    """No architecture is known by name: the model's forward says what it takes."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.device = model.device
        self.vocab = model.get_input_embeddings().num_embeddings
        parameters = inspect.signature(model.forward).parameters
        self.cache_argument = cache_argument(parameters)
        if self.cache_argument not in parameters:
            raise ModelError(
                f"{type(model).__name__} keeps its state in its own way, not in a transformers cache: "
                "use a model with a KV cache"
            )
        self.chooses_logits = "logits_to_keep" in parameters
        # Some models count positions from 0 in every pass unless told.
        self.takes_positions = "position_ids" in parameters

    def run(
        self,
        cache: Any,
        tokens: Sequence[int],
        positions: Tensor,
        visible: Tensor | None = None,
        *,
        wanted: int | None = None,
    ) -> Tensor:
        """Logits (n, vocab) float32 for the positions after each of `tokens`, whose entries are added to `cache`.

        `positions` (n,) long. `visible` (n, entries + n) bool says which entries a row may look at, the n new ones
        being the last; without it, at all before it and itself. With `wanted` at least the last so many rows are given.

        Raises:
            ResourceError: the memory did not suffice.
        """
        options: dict[str, Any] = {self.cache_argument: cache}
        if self.takes_positions:
            options["position_ids"] = positions[None].to(self.device)
        if wanted is not None and self.chooses_logits:
            options["logits_to_keep"] = wanted
        try:
            if visible is not None:
                options["attention_mask"] = self._mask(visible)
            input_ids = torch.tensor([list(tokens)], dtype=torch.long, device=self.device)
            with torch.inference_mode():
                output = self.model(input_ids=input_ids, use_cache=True, **options)
        except (MemoryError, RuntimeError) as error:
            lack = memory_failure(
                error, f"a forward pass on {self.device} failed", "shorten the prompt or choose a smaller model or k"
            )
            if lack is not None:
                raise lack from error
            raise
        logits: Tensor = output.logits[0].float()
        return logits

    def _mask(self, visible: Tensor) -> Tensor:
        """What is added to the attention scores, (1, 1, n, entries): 0 where a row may look, else a very low number."""
        hidden = ~visible.to(self.device)
        mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=self.device)
        return mask.masked_fill_(hidden, torch.finfo(self.model.dtype).min)[None, None]


def cache_argument(parameters: Collection[str]) -> str:
    """The name of the cache among the parameters of a model's forward: it was changed between transformers releases."""
    return "cache" if "cache" in parameters else "past_key_values"


def is_chain(parents: Sequence[int]) -> bool:
    """Whether each node follows the one before it."""
    return all(parent == node - 1 for node, parent in enumerate(parents))


def visible_nodes(parents: Sequence[int]) -> Tensor:
    """Mask (1 + n, 1 + n) bool of a pending token and n nodes: row i may look at itself and at what it follows."""
    if is_chain(parents):
        return torch.ones((1 + len(parents),) * 2, dtype=torch.bool).tril_()
    visible = torch.eye(1 + len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents, start=1):
        visible[node] |= visible[parent + 1]
    return visible
