"""The packaged model and real prompts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.runner import Runner
from lookahead_cli.models.sources import locate
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.text.chat import encode

SPEC_BENCH = "LOOKAHEAD_SPEC_BENCH"
"""Environment variable with the path of a Spec-Bench file of prompts (JSON lines with `category` and `turns`)."""

OWN_PROMPTS = [
    "Write a Python function that returns the nth Fibonacci number, and explain it.",
    "Translate into German: The weather is nice today, so we are going to the sea.",
]


@pytest.fixture(scope="session")
def packaged() -> LoadedModel:
    """SmolLM2-135M-Instruct in float32; fetched and converted the first time."""
    return load(locate("smollm2-135m"), Wish(dtype="float32", device="cpu", runner="transformers"))


@pytest.fixture(scope="session")
def model(packaged: LoadedModel) -> Any:
    """The same as a transformers model."""
    assert isinstance(packaged.runner, TransformersRunner)
    return packaged.runner.model


@pytest.fixture(scope="session")
def runners(packaged: LoadedModel) -> list[Runner]:
    """Both runners with it in float32."""
    return [packaged.runner, load(packaged.folder, Wish(dtype="float32", device="cpu", runner="lean")).runner]


@pytest.fixture(scope="session")
def own_prompts(packaged: LoadedModel) -> list[list[int]]:
    """Token ids of prompts that are always there."""
    return [encode(packaged.tokenizer, prompt, "", "chat") for prompt in OWN_PROMPTS]


@pytest.fixture(scope="session")
def spec_bench(packaged: LoadedModel) -> Callable[[int], list[list[int]]]:
    """`spec_bench(n)`: token ids of n prompts spread over all categories, first turns."""
    if SPEC_BENCH not in os.environ:
        pytest.skip(f"no Spec-Bench prompts here: set {SPEC_BENCH} to a file of them")
    categories: dict[str, list[str]] = {}
    for line in Path(os.environ[SPEC_BENCH]).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        categories.setdefault(record["category"], []).append(record["turns"][0])

    def choose(count: int) -> list[list[int]]:
        rounds = [prompts[turn] for turn in range(count) for prompts in categories.values() if turn < len(prompts)]
        return [encode(packaged.tokenizer, prompt, "", "chat") for prompt in rounds[:count]]

    return choose
