"""The runner for every architecture: a transformers model with transformers' own KV cache."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.failures import first_line, memory_failure
from lookahead_cli.models.runner import MOST_FORGOTTEN
from lookahead_cli.models.seats import Unlimited

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PREFILL_CHUNK = 512
"""Prompt tokens per forward pass: bounds the memory for activations and the wait until Ctrl-C is heard."""
ROWS_CHUNK = 128
"""The same where the logits of all of them are wanted, which take up far more memory."""
PROBE_TOLERANCE = 0.1
"""How near a branching pass must come to the right logits, as a part of how far off a pass without branches is."""


class TransformersRunner:
    """Runs a model step by step. The cache is asked what it can do; no architecture is known by name."""

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

    def prefill(self, tokens: Sequence[int], take_rows: Callable[[Tensor], None] | None = None) -> None:
        self.cache = self._new_cache()
        self.length = 0
        chunk = PREFILL_CHUNK if take_rows is None else ROWS_CHUNK
        if self.rewind_obstacle is not None:
            # A running state may only be carried on token by token: such a model takes its prompt in one piece.
            chunk = max(len(tokens), 1)
        options = self.last_logits_only if take_rows is None else {}
        for start in range(0, len(tokens), chunk):
            logits = self._forward(tokens[start : start + chunk], **options)
            if take_rows is not None:
                take_rows(logits)
            self._rewind(0)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        self.drafted = len(tokens)
        if is_chain(parents):
            return self._forward([pending, *tokens])
        return self._forward([pending, *tokens], tree=parents)

    def commit(self, path: Sequence[int]) -> None:
        if any(node != place for place, node in enumerate(path)):
            self._gather(path)
        self._rewind(self.drafted - len(path))

    def forget(self, count: int) -> None:
        if count:  # an empty cache does not even take a 0
            self._rewind(count)

    def twin(self) -> TransformersRunner:
        twin = copy.copy(self)
        twin.drafted = twin.length = 0
        twin.cache = self._new_cache()
        return twin

    def branching(self, nodes: int) -> bool:
        return self.tree_obstacle is None and self.length + 1 + nodes <= self._plain_span()

    def seats(self) -> Unlimited:
        return Unlimited()

    @cached_property
    def tree_obstacle(self) -> str | None:
        """Why branches cannot be verified in one pass, or None if they can. Asked of the model, once, by trying."""
        if self.rewind_obstacle:
            return self.rewind_obstacle
        kept = self.cache, self.length, self.drafted
        try:
            return self._try_branches()
        except ResourceError:
            raise
        except Exception as error:  # an attention kernel that does not take such a mask says so in its own way
            return first_line(error)
        finally:
            self.cache, self.length, self.drafted = kept

    def _try_branches(self) -> str | None:
        """Run a small tree and compare it with its paths run alone: the logits, and those after committing a path.

        How far rounding may carry logits depends on model and dtype. So the measure is how far off they are without
        branches, each node seeing all before it: that is the mistake of a kernel that ignores the mask.
        """
        unlike = [name for layer in self.cache.layers for name in state_beside_keys_and_values(layer)]
        if unlike:
            return f"the cache keeps more than keys and values ({unlike[0]})"
        first, pending, left, right, below, after = (self.vocab * place // 7 for place in range(1, 7))
        self.prefill([first])
        alone = self.step(pending, [right, below, after], [-1, 0, 1])  # rows: pending, right, below, after
        self._rewind(4)
        in_line = self.step(pending, [left, right, below], [-1, 0, 1])  # rows: pending, left, right, below
        self._rewind(4)
        branched = self.step(pending, [left, right, below], [-1, -1, 1])
        self.commit([1, 2])
        following = self.step(after, [], [])
        found = torch.cat([branched, following])
        expected = torch.stack([alone[0], in_line[1], alone[1], alone[2], alone[3]])
        distance = (found - expected).abs().max()
        mistake = (in_line[2:] - alone[1:3]).abs().max()
        return None if distance <= PROBE_TOLERANCE * mistake else "its attention does not take a mask with branches"

    def _plain_span(self) -> float:
        """Longest sequence for which every layer still attends to all of it: beyond, one mask does not fit all."""
        config = self.model.config.get_text_config()
        spans = [getattr(part, "sliding_window", None) for part in (config, *self.cache.layers)]
        return min((span for span in spans if span), default=float("inf"))

    def _forward(self, tokens: Sequence[int], *, tree: Sequence[int] | None = None, **options: Any) -> Tensor:
        """Logits (n, vocab) float32 for the positions after each of `tokens`, whose entries are added to the cache.

        `tree` holds the parents of all tokens but the first, if they branch.

        Raises:
            ResourceError: the memory did not suffice.
        """
        try:
            input_ids = torch.tensor([list(tokens)], dtype=torch.long, device=self.device)
            positions = torch.arange(self.length, self.length + len(tokens), device=self.device)
            if tree is not None:
                visible = visible_nodes(tree)  # (n, n)
                positions = self.length - 1 + visible.sum(dim=1).to(self.device)
                options["attention_mask"] = self._mask(visible)
            if self.takes_positions:
                options["position_ids"] = positions[None]
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

    def _mask(self, visible: Tensor) -> Tensor:
        """What is added to the attention scores (1, 1, n, length + n): 0 where a row may look, else a very low number.

        Everything committed may be looked at, of the step itself what `visible` (n, n) says.
        """
        rows = len(visible)
        mask = torch.zeros((1, 1, rows, self.length + rows), dtype=self.model.dtype)
        mask[0, 0, :, self.length :].masked_fill_(~visible, torch.finfo(self.model.dtype).min)
        return mask.to(self.device)

    @torch.inference_mode()
    def _gather(self, path: Sequence[int]) -> None:
        """Move the entries of the nodes in `path` to the places right after the pending token's."""
        for layer in self.cache.layers:
            if not layer.is_initialized:
                continue  # shares the entries of another layer
            first = layer.keys.shape[-2] - self.drafted
            nodes = torch.tensor(path, device=layer.keys.device)
            for entries in (layer.keys, layer.values):  # (1, heads, length, width)
                entries[..., first : first + len(path), :] = entries[..., first + nodes, :]

    def _rewind(self, count: int) -> None:
        """Take the last `count` entries out of the cache. Layers that keep a fixed span shrink here, to that span and
        what can be forgotten; transformers would keep the span alone."""
        self.length -= count
        if self.rewind_obstacle is None:
            spans = [(layer, layer.keys, layer.values) for layer in self.cache.layers if keeps_a_span(layer)]
            self.cache.crop(-count)
            for layer, keys, values in spans:
                end = keys.shape[-2] - count
                first = max(end - (layer.sliding_window - 1) - MOST_FORGOTTEN, 0)
                layer.keys, layer.values = keys[..., first:end, :], values[..., first:end, :]
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


def cache_argument(parameters: Collection[str]) -> str:
    """The name of the cache among the parameters of a model's forward: it was changed between transformers releases."""
    return "cache" if "cache" in parameters else "past_key_values"


def keeps_a_span(layer: Any) -> bool:
    """Whether a cache layer drops entries that have left its sliding window, if it holds any yet."""
    return getattr(layer, "sliding_window", None) is not None and layer.is_initialized


def is_chain(parents: Sequence[int]) -> bool:
    """Whether each node follows the one before it."""
    return all(parent == node - 1 for node, parent in enumerate(parents))


def visible_nodes(parents: Sequence[int]) -> Tensor:
    """Mask (1 + n, 1 + n) bool of a pending token and n nodes: row i may look at itself and at what it follows."""
    visible = torch.eye(1 + len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents, start=1):
        visible[node] |= visible[parent + 1]
    return visible


def state_beside_keys_and_values(layer: Any) -> list[str]:
    """Names of tensors in a cache layer that hold something for each token and are not its keys or values."""
    return [
        name
        for name, value in vars(layer).items()
        if isinstance(value, Tensor) and value.ndim > 1 and name not in ("keys", "values")
    ]
