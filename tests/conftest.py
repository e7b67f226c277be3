"""Settings for the whole test run."""

from __future__ import annotations

import os
import signal

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
