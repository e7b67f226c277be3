"""Many sequences in one pass of a transformers model: they lie in one cache, as if they were one long sequence.

A mask says which entries are a row's own, and positions say where in its own sequence it stands. It is the mechanism
by which a tree is verified in one pass: sequences are branches that part at the very beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lookahead_cli.errors import ResourceError
from lookahead_cli.models.batch_runner import BatchStep, Chunk
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.seats import Unlimited
from lookahead_cli.models.transformers_forward import visible_nodes
from lookahead_cli.models.transformers_runner import PROBE_TOLERANCE, TransformersRunner

NOBODY = torch.iinfo(torch.long).min
"""Owner of an entry that is to be taken out; no sequence has this number."""
FLEXIBLE_ROTARY = ("dynamic", "longrope")
"""Kinds of rotary positions that transformers works out anew by the greatest position in a pass."""


Part = Chunk | BatchStep
"""The rows of one sequence in a pass."""


class TransformersBatchRunner:
    """Shares the model of a runner. Has sequences only if there is no `obstacle`."""

    shares_beginnings = False
    most_sequences: int | None = None

    def __init__(self, runner: TransformersRunner) -> None:
        self.runner = runner
        self.vocab = runner.vocab
        self.cache = runner.new_cache()
        self.owners = torch.empty(0, dtype=torch.long)
        """(entries,) on the CPU: the sequence of every entry in the cache."""
        self.lengths: dict[int, int] = {}
        """Committed entries of each sequence."""
        self.steps: dict[int, range] = {}
        """Entries of each step of the latest pass."""
        self.spoilt: set[int] = set()
        """Sequences with keys or values that are not finite; none of their entries is kept."""

    @cached_property
    def obstacle(self) -> str | None:
        if (obstacle := self.runner.tree_obstacle) is not None:
            return obstacle
        if self.runner.plain_span < float("inf"):
            return "its layers look back over a sliding window"
        kinds = {str(getattr(module, "rope_type", "")) for module in self.runner.model.modules()}
        if any(flexible in kind for kind in kinds for flexible in FLEXIBLE_ROTARY):
            return "its rotary positions depend on the longest sequence of a pass"
        try:
            return self._try_two()
        except ResourceError:
            raise
        except Exception as error:
            return first_line(error)

    def bytes_for(self, tokens: int) -> int:
        return self.runner.bytes_for(tokens)

    def enter(self, sequence: int) -> None:
        self.lengths[sequence] = 0

    def begin_like(self, sequence: int, other: int, count: int) -> bool:
        raise NotImplementedError("every prompt is read")

    @torch.inference_mode()
    def leave(self, sequence: int) -> None:
        del self.lengths[sequence]
        self.spoilt.discard(sequence)
        self.owners[self.owners == sequence] = NOBODY
        if not self.lengths:
            self._tidy()

    def branching(self, sequence: int, nodes: int) -> bool:
        return True

    def seats(self, sequence: int) -> Unlimited:
        return Unlimited()

    @torch.inference_mode()
    def run(self, chunks: Sequence[Chunk], steps: Sequence[BatchStep]) -> list[Tensor]:
        self._tidy()
        self.steps = {}
        brought: list[Part] = [*chunks, *steps]
        parts = [part for part in brought if part.sequence not in self.spoilt]
        found, sound = self._pass(parts)
        if not sound:
            found = self._separately(parts)
        for chunk in chunks:
            self.lengths[chunk.sequence] += len(chunk.tokens)
        return [found[step.sequence] if step.sequence in found else self._no_logits(step) for step in steps]

    @torch.inference_mode()
    def commit(self, paths: Mapping[int, Sequence[int]]) -> None:
        for sequence, path in paths.items():
            self.lengths[sequence] += 1 + len(path)
            if sequence not in self.spoilt:
                entries = self.steps[sequence]
                self.owners[list(entries)] = NOBODY
                self.owners[[entries[0], *(entries[1 + node] for node in path)]] = sequence

    def _pass(self, parts: Sequence[Part]) -> tuple[dict[int, Tensor], bool]:
        """Logits of every step, by sequence, and whether all that were computed are finite. The entries of all rows go
        into the cache. Chunks come first in `parts`."""
        if not parts:
            return {}, True
        before, step_rows = len(self.owners), sum(len(part.rows) for part in parts if isinstance(part, BatchStep))
        tokens = [token for part in parts for token in part.rows]
        rows = torch.tensor([part.sequence for part in parts for _ in part.rows])  # (n,)
        nodes = [visible_nodes(part.parents) for part in parts]
        among: Tensor = torch.block_diag(*nodes)  # type: ignore[no-untyped-call]  # (n, n) bool
        visible = torch.cat([self.owners == rows[:, None], among], dim=1)
        committed = torch.tensor([self.lengths[part.sequence] for part in parts for _ in part.rows])
        positions = committed + among.sum(dim=1) - 1
        logits = self.runner.forward.run(self.cache, tokens, positions, visible, wanted=max(step_rows, 1))
        self.owners = torch.cat([self.owners, rows])
        found: dict[int, Tensor] = {}
        start = len(tokens) - step_rows
        without_logits = len(tokens) - len(logits)
        for part in parts:
            if isinstance(part, BatchStep):
                end = start + len(part.rows)
                self.steps[part.sequence] = range(before + start, before + end)
                found[part.sequence] = logits[start - without_logits : end - without_logits]
                start = end
        return found, bool(torch.isfinite(logits.amax(dim=-1)).all())

    def _separately(self, parts: Sequence[Part]) -> dict[int, Tensor]:
        """The same again for one sequence at a time, without those whose keys or values are not finite: what is masked
        is multiplied by zero all the same, and so one of them spoils all."""
        self._keep(torch.arange(len(self.owners) - sum(len(part.rows) for part in parts)))
        self._find_spoilt()
        self.steps = {}
        found: dict[int, Tensor] = {}
        for part in parts:
            if part.sequence not in self.spoilt:
                found |= self._pass([part])[0]
                self._find_spoilt()
        return found

    def _find_spoilt(self) -> None:
        """Note whose entries are not finite; zeros stand in their place until they are taken out."""
        finite = torch.ones(len(self.owners), dtype=torch.bool)
        for layer in self._layers():
            for entries in (layer.keys, layer.values):  # (1, heads, entries, width)
                finite &= torch.isfinite(entries).all(-1).all(1)[0].cpu()
        broken = (~finite).nonzero().flatten()
        for layer in self._layers():
            for entries in (layer.keys, layer.values):
                entries.index_fill_(-2, broken.to(entries.device), 0)
        for sequence in set(self.owners[broken].tolist()) - {NOBODY}:
            self.spoilt.add(sequence)
            self.owners[self.owners == sequence] = NOBODY

    def _no_logits(self, step: BatchStep) -> Tensor:
        """What a spoilt sequence is given: nothing can be selected from it."""
        return torch.full((1 + len(step.tokens), self.vocab), torch.nan, device=self.runner.forward.device)

    def _tidy(self) -> None:
        """Take the entries of nobody out of the cache."""
        kept = (self.owners != NOBODY).nonzero().flatten()
        if len(kept) < len(self.owners):
            self._keep(kept)

    def _keep(self, kept: Tensor) -> None:
        """Leave the entries with these indices (m,) in the cache, and no others."""
        for layer in self._layers():
            there = kept.to(layer.keys.device)
            layer.keys, layer.values = layer.keys.index_select(-2, there), layer.values.index_select(-2, there)
        self.owners = self.owners[kept]

    def _layers(self) -> list[Any]:
        """Layers of the cache that hold something; others share the entries of another layer."""
        return [layer for layer in self.cache.layers if layer.is_initialized]

    def _try_two(self) -> str | None:
        """Run two short sequences side by side and compare one of them with itself alone; one behind the other is the
        mistake it is measured by, as in `TransformersRunner.tree_obstacle`."""
        before, mine, pending, left, right, after = (self.vocab * place // 7 for place in range(1, 7))
        its_prompt, my_prompt = [before, right, mine], [mine, before]
        tree = [left, right], [-1, -1]
        runner = self.runner.twin()
        runner.prefill([*its_prompt, *my_prompt])
        behind = runner.step(pending, *tree)
        runner.prefill(my_prompt)
        alone = runner.step(pending, *tree)
        runner.commit([1])
        expected = torch.cat([alone, runner.step(after, [], [])])
        for sequence in (0, 1):
            self.enter(sequence)
        self.run([Chunk(0, its_prompt, is_last=True), Chunk(1, my_prompt, is_last=True)], [])
        _, beside = self.run([], [BatchStep(0, after, [mine], [-1]), BatchStep(1, pending, *tree)])
        self.commit({0: [], 1: [1]})
        [following] = self.run([], [BatchStep(1, after, [], [])])
        self.commit({1: []})
        for sequence in (0, 1):
            self.leave(sequence)
        distance = (torch.cat([beside, following]) - expected).abs().max()
        mistake = (behind - alone).abs().max()
        return None if distance <= PROBE_TOLERANCE * mistake else "it does not keep sequences in one cache apart"
