"""The runner for every architecture: a transformers model with transformers' own KV cache."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.cache_layers import keeps_a_span, layer_size, state_beside_keys_and_values
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.runner import MOST_FORGOTTEN, nobody
from lookahead_cli.models.seats import Unlimited
from lookahead_cli.models.transformers_forward import TransformersForward, is_chain, visible_nodes

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
        self.forward = TransformersForward(model)
        self.vocab = self.forward.vocab
        self.drafted = 0
        self.length = 0
        """Entries in the cache."""
        self.longest = 0
        """The most that were committed since the last prefill from the start."""
        self.rewind_obstacle: str | None = None
        try:
            self.cache = self.new_cache()
            self.rewind_obstacle = self._find_rewind_obstacle()
        except ResourceError:
            raise
        except Exception as error:
            raise ModelError(
                f"{type(model).__name__} does not run token by token with a transformers cache ({first_line(error)}): "
                "use another model"
            ) from error
        self.sizes = [layer_size(layer) for layer in self.cache.layers]
        """Of the layers of the cache."""

    def keeps(self, count: int) -> bool:
        if self.rewind_obstacle is not None or count > self.length:
            return False
        return self.longest <= self.plain_span or self.longest - count <= MOST_FORGOTTEN

    def prefill(
        self,
        tokens: Sequence[int],
        take_rows: Callable[[Tensor], None] | None = None,
        *,
        kept: int = 0,
        tell: Callable[[int], None] = nobody,
    ) -> None:
        if kept:
            self.forget(self.length - kept)
        else:
            self.cache = self.new_cache()
            self.length = self.longest = 0
        chunk = PREFILL_CHUNK if take_rows is None else ROWS_CHUNK
        if self.rewind_obstacle is not None:
            # A running state may only be carried on token by token: such a model takes its prompt in one piece.
            chunk = max(len(tokens), 1)
        wanted = 1 if take_rows is None else None
        for start in range(kept, len(tokens), chunk):
            logits = self._forward(tokens[start : start + chunk], wanted=wanted)
            if take_rows is not None:
                take_rows(logits)
            self._rewind(0)
            tell(self.length)

    def step(self, pending: int, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        self.drafted = len(tokens)
        return self._forward([pending, *tokens], parents)

    def commit(self, path: Sequence[int]) -> None:
        if any(node != place for place, node in enumerate(path)):
            self._gather(path)
        self._rewind(self.drafted - len(path))

    def forget(self, count: int) -> None:
        if count:  # an empty cache does not even take a 0
            self._rewind(count)

    def bytes_for(self, tokens: int) -> int:
        """Memory that the cache takes up once it holds so many tokens."""
        return sum(size.bytes_for(tokens) for size in self.sizes)

    def twin(self) -> TransformersRunner:
        twin = copy.copy(self)
        twin.drafted = twin.length = twin.longest = 0
        twin.cache = self.new_cache()
        return twin

    def branching(self, nodes: int) -> bool:
        return self.tree_obstacle is None and self.length + 1 + nodes <= self.plain_span

    def seats(self) -> Unlimited:
        return Unlimited()

    @cached_property
    def tree_obstacle(self) -> str | None:
        """Why branches cannot be verified in one pass, or None if they can. Asked of the model, once, by trying."""
        if self.rewind_obstacle:
            return self.rewind_obstacle
        kept = self.cache, self.length, self.longest, self.drafted
        try:
            return self._try_branches()
        except ResourceError:
            raise
        except Exception as error:  # an attention kernel that does not take such a mask says so in its own way
            return first_line(error)
        finally:
            self.cache, self.length, self.longest, self.drafted = kept

    def _try_branches(self) -> str | None:
        """Run a small tree and compare it with its paths run alone: the logits, and those after committing a path.

        How far rounding may carry logits depends on model and dtype. So the measure is how far off they are without
        branches, each node seeing all before it: that is the mistake of a kernel that ignores the mask.
        """
        unlike = [name for layer in self.cache.layers for name in state_beside_keys_and_values(layer)]
        if unlike:
            return f"the cache keeps more than keys and values ({unlike[0]})"
        if any(buffer.ndim == 4 and buffer.shape[-1] == buffer.shape[-2] for buffer in self.model.buffers()):
            # Of the shape of attention scores (GPT-Neo's local attention): right as long as a probe would be.
            return "its attention has a mask of its own, which goes by places in the cache"
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

    @property
    def plain_span(self) -> float:
        """Longest sequence for which every layer still attends to all of it: beyond, one mask does not fit all."""
        config = self.model.config.get_text_config()
        spans = [getattr(part, "sliding_window", None) for part in (config, *self.cache.layers)]
        return min((span for span in spans if span), default=float("inf"))

    def _forward(self, tokens: Sequence[int], parents: Sequence[int] = (), *, wanted: int | None = None) -> Tensor:
        """Logits (n, vocab) float32 for the positions after each of `tokens`, whose entries are added to the cache.

        `parents` are those of all tokens but the first, if they branch; `wanted` is as in `TransformersForward.run`.
        """
        positions = torch.arange(self.length, self.length + len(tokens))
        visible = None
        if not is_chain(parents):
            nodes = visible_nodes(parents)  # (n, n)
            positions = self.length - 1 + nodes.sum(dim=1)
            committed = torch.ones((len(nodes), self.length), dtype=torch.bool)
            visible = torch.cat([committed, nodes], dim=1)
        logits = self.forward.run(self.cache, tokens, positions, visible, wanted=wanted)
        self.length += len(tokens)
        return logits

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
        self.longest = max(self.longest, self.length)
        if self.rewind_obstacle is None:
            spans = [(layer, layer.keys, layer.values) for layer in self.cache.layers if keeps_a_span(layer)]
            self.cache.crop(-count)
            for layer, keys, values in spans:
                end = keys.shape[-2] - count
                first = max(end - (layer.sliding_window - 1) - MOST_FORGOTTEN, 0)
                layer.keys, layer.values = keys[..., first:end, :], values[..., first:end, :]
        elif count:
            raise RuntimeError(f"drafts must be empty for this model: {self.rewind_obstacle}")

    def new_cache(self) -> Any:
        """An empty transformers cache for one sequence."""
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
