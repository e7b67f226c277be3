"""How a model would be run is told right beforehand."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest

from lookahead_cli.knowledge.obstacles import FILE, Obstacles, keep_obstacles, kept_obstacles
from lookahead_cli.models.lean.architecture import FAMILY
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.plan import plan
from tests.models.made_hub_cache import GPT2, LLAMA
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE


@pytest.mark.parametrize("name", [*RUNNING_STATE, *REWINDABLE])
def test_running_states_are_known_by_the_config(name: str) -> None:
    config = json.loads({**RUNNING_STATE, **REWINDABLE}[name]().to_json_string(use_diff=False))
    found = plan(config, [PurePath("model.safetensors")], Wish(), None)
    assert (found.strategies == "greedy only") == (name in RUNNING_STATE)
    assert (found.runner == "lean") == (config["model_type"] in FAMILY)


@pytest.mark.parametrize(
    ("weights", "wish", "why"),
    [
        ("model.bin", Wish(), "it reads weights from safetensors only"),
        ("model.safetensors", Wish(device="spread"), "it runs on one device"),
        ("model.safetensors", Wish(allow=frozenset({"remote-code"})), "none of the code"),
    ],
)
def test_wishes_and_weights_that_rule_the_lean_runner_out(weights: str, wish: Wish, why: str) -> None:
    found = plan(LLAMA, [PurePath(weights)], wish, None)
    assert found.runner == "transformers"
    assert why in found.why_not_lean


def test_a_config_full_of_nonsense_is_no_crash() -> None:
    nonsense = {**LLAMA, "rope_scaling": "much", "layer_types": 3, "text_config": "x"}
    assert plan(nonsense, [], Wish(), None).why_not_lean == "its config.json holds values that are none"


def test_layer_types_that_are_no_words_are_no_crash() -> None:
    assert plan({"model_type": ["x"], "layer_types": [[1], {}]}, [], Wish(), None).strategies == "not tried"


def test_what_was_found_out_with_another_transformers_counts_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_obstacles(tmp_path, Obstacles(None, "no mask"))
    assert kept_obstacles(tmp_path) == Obstacles(None, "no mask")
    assert plan(GPT2, [], Wish(), tmp_path).strategies == "chains only"
    monkeypatch.setattr("lookahead_cli.knowledge.obstacles.metadata.version", lambda _: "0")
    assert kept_obstacles(tmp_path) is None
    (tmp_path / FILE).write_text('{"transformers 0": {"rewind": 3}}')
    assert kept_obstacles(tmp_path) is None
