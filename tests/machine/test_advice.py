"""Each circumstance has its sentence, and where there is none nothing is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lookahead_cli.machine.accelerators import Accelerator
from lookahead_cli.machine.advice import advice
from lookahead_cli.machine.choice import ASKED, Chosen, ModelChoice
from lookahead_cli.machine.memory import Memory
from lookahead_cli.machine.processor import Processor
from lookahead_cli.machine.report import Report
from lookahead_cli.machine.speed import Run, Speed
from lookahead_cli.machine.storage import Storage

GB = 10**9
MODEL = ModelChoice(
    source="m", folder=Path("m"), absence=None, device=Chosen("cpu", "it is there"), threads=Chosen("8", "so it is"),
    runner=Chosen("lean", "so it is"), dtype=Chosen("bfloat16", "so it is"), weights=Chosen("full", "so it is"),
    memory=GB,
)  # fmt: skip
SPEED = Speed(10, 1.0, 100.0, Run(10, 10.0, 1.0), Run(10, 15.0, 2.0), True, {1: 10.0}, False)


def healthy() -> Report:
    """A machine about which there is nothing to say."""
    return Report(
        Path("p.toml"),
        versions={"torch": "2.9+cpu"},
        processor=Processor("one", 8, 8, "", 0.5),
        memory=Memory(16 * GB, 12 * GB, None),
        accelerators=[],
        cache=Storage(Path("c"), 0, 100 * GB, None),
        model=MODEL,
        speed=SPEED,
    )


def test_a_healthy_machine_gets_no_advice() -> None:
    assert advice(healthy()) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": replace(MODEL, folder=None, absence="m is away")}, "m is away; `lookahead generate -p"),
        ({"model": replace(MODEL, dtype=Chosen("float32", "no bfloat16"))}, "float32 is used: no bfloat16"),
        ({"model": replace(MODEL, runner=Chosen("transformers", "a reason"))}, "slower than the lean runner: a reason"),
        ({"memory": Memory(16 * GB, GB // 2, None)}, "the weights take 1.0 GB, but only 0.5 GB of memory are free"),
        ({"memory": Memory(16 * GB, 2 * GB, None)}, "only 2.0 GB of memory are free and the weights take 1.0 GB of it"),
        ({"processor": Processor("one", 16, 16, "", 0.1), "model": replace(MODEL, threads=Chosen("2", "reason"))},
         "threads=2 of 16 cores (reason): more may be faster, try --threads 16"),
        ({"processor": Processor("one", 16, 1.5, "container", 0.1)},
         "threads=8, but only 1.5 cores can be used: they wait for each other; --threads 1 is faster"),
        ({"processor": Processor("one", 8, 8, "", 6.0)}, "load average 6.0 on 8 cores"),
        ({"cache": Storage(Path("c"), 0, GB, None)}, "only 1.0 GB are free on the disk of the cache folder"),
        ({"hub_offline": True}, "HF_HUB_OFFLINE is set"),
        ({"variables": {"LOOKAHEAD_TEMPERATUR": "1", "LOOKAHEAD_CACHE": "c", "LOOKAHEAD_MODEL": "m"}},
         "the variable LOOKAHEAD_TEMPERATUR is none of ours and sets nothing: LOOKAHEAD_TEMPERATURE was"),
        ({"idle_nvidia": True}, "there is an NVIDIA GPU, but this torch (2.9+cpu) cannot use it"),
        ({"accelerators": [Accelerator("cuda:0", "H", GB, GB)]}, "though there is cuda:0 (H): --device cuda:0"),
        ({"speed": replace(SPEED, same_tokens=False)}, "different tokens"),
        ({"speed": replace(SPEED, lookahead=Run(10, 9.0, 2.0))}, "guesses brought nothing on this check's text"),
        ({"notices": ["a notice"]}, "a notice"),
    ],
)  # fmt: skip
def test_one_circumstance_has_one_sentence(changes: dict[str, object], said: str) -> None:
    (sentence,) = advice(replace(healthy(), **changes))  # type: ignore[arg-type]
    assert said in sentence


def test_what_was_asked_for_needs_no_advice() -> None:
    asked = replace(MODEL, dtype=Chosen("float32", ASKED), runner=Chosen("transformers", ASKED))
    assert advice(replace(healthy(), model=asked)) == []


def test_a_machine_of_which_nothing_is_known_gets_none() -> None:
    assert advice(Report(Path("p.toml"))) == []


def test_a_gpu_that_is_used_needs_no_advice_about_the_processor() -> None:
    on_gpu = replace(MODEL, device=Chosen("cuda:0", ""), threads=Chosen("1", ""), dtype=Chosen("float32", ""))
    report = replace(healthy(), model=on_gpu, accelerators=[Accelerator("cuda:0", "H", GB, GB)])
    assert advice(report) == []
