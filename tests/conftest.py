"""Settings for the whole test run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Several test processes with several threads each would fight for the cores. Read by torch when it is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# No model is let talk to itself behind a test's back.
os.environ["LOOKAHEAD_REHEARSE"] = "false"

# A shell starts what it puts in the background with Ctrl-C ignored, and the programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something about the machine, not about the code.
settings.register_profile("lookahead", deadline=None)
settings.load_profile("lookahead")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Tiny models are slower on several threads than on one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
