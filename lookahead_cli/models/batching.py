"""Which batch runner goes with a runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookahead_cli.models.lean.batch_runner import LeanBatchRunner
from lookahead_cli.models.lean.runner import LeanRunner

if TYPE_CHECKING:
    from lookahead_cli.models.batch_runner import BatchRunner
    from lookahead_cli.models.runner import Runner


def batch_runner_for(runner: Runner) -> BatchRunner:
    """A batch runner of the same model."""
    assert isinstance(runner, LeanRunner)
    return LeanBatchRunner(runner.forward)
