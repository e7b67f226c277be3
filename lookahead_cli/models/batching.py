"""Which batch runner goes with a runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookahead_cli.models.lean.batch_runner import LeanBatchRunner
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.one_by_one import OneByOne

if TYPE_CHECKING:
    from lookahead_cli.models.batch_runner import BatchRunner
    from lookahead_cli.models.runner import Runner


def batch_runner_for(runner: Runner) -> BatchRunner:
    """A batch runner of the same model: one that has all sequences in one pass, if the model lets it.

    Raises:
        ResourceError: the memory did not suffice to try that.
    """
    if isinstance(runner, LeanRunner):
        return LeanBatchRunner(runner.forward)
    from lookahead_cli.models.transformers_batch_runner import TransformersBatchRunner
    from lookahead_cli.models.transformers_runner import TransformersRunner

    assert isinstance(runner, TransformersRunner), "there are two kinds of runners"
    together = TransformersBatchRunner(runner)
    return together if together.obstacle is None else OneByOne(runner, together.obstacle)
