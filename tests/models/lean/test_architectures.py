"""The lean runner computes what transformers computes, for every switch that its models can have set."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from lookahead_cli.errors import ModelError
from lookahead_cli.models.lean.architecture import FAMILY as KNOWN
from lookahead_cli.models.lean.architecture import NotLean, read_architecture
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.loading import Wish, load
from tests.lean_models import FAMILY, LLAMA3, alone, lean_runner, random_tokens, save_model
from tests.models.lean.conftest import MakeFolder
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE, SHORT_WINDOW
from tests.tiny_models import save_tiny_llama, tiny_tokenizer

CHAIN = [-1, 0, 1]
TREE = [-1, -1, 0, 0, 1, 2, 5, 6, 6, 4]
PATH = [0, 2, 5, 6, 8]
"""Through TREE: its last node is a second child."""
NODES = random_tokens(len(TREE), seed=7)


def path_to(node: int, parents: list[int]) -> list[int]:
    return [] if node < 0 else [*path_to(parents[node], parents), node]


class Compared:
    """Lean logits beside those of transformers for the same tokens, each in a pass of its own."""

    def __init__(self, runner: LeanRunner, *models: Any) -> None:
        self.runner, self.models = runner, models
        self.committed: list[int] = []
        self.rows: list[torch.Tensor] = []
        self.expected: list[list[torch.Tensor]] = [[] for _ in models]

    def prefill(self, tokens: list[int]) -> None:
        self.committed = list(tokens)
        rows: list[torch.Tensor] = []
        self.runner.prefill(tokens[:-1], rows.append)
        self.rows.append(torch.cat(rows))
        for model, expected in zip(self.models, self.expected, strict=True):
            expected.append(alone(model, tokens[:-1]))

    def step(self, tokens: list[int], parents: list[int], path: list[int]) -> None:
        """A step with all its rows compared; then `path` is committed, and a bonus token is pending."""
        self.rows.append(self.runner.step(self.committed[-1], tokens, parents))
        for node in range(-1, len(tokens)):
            before = [*self.committed, *(tokens[step] for step in path_to(node, parents))]
            for model, expected in zip(self.models, self.expected, strict=True):
                expected.append(alone(model, before)[-1:])
        self.runner.commit(path)
        self.committed += [*(tokens[node] for node in path), 11]

    def everything(self) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """All rows so far (n, vocab), lean and of each model."""
        return torch.cat(self.rows), [torch.cat(expected) for expected in self.expected]

    def run(self, tokens: list[int]) -> None:
        """A prompt, a chain, a tree, and steps that see what the tree has left in the cache."""
        self.prefill(tokens)
        self.step(NODES[: len(CHAIN)], CHAIN, [0, 1])
        self.step(NODES, TREE, PATH)
        self.step([], [], [])
        self.step(NODES, TREE, [1, 4])
        self.step(NODES[:1], [-1], [0])


def check_float32(compared: Compared) -> None:
    rows, (expected,) = compared.everything()
    torch.testing.assert_close(rows, expected, rtol=0, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("name", FAMILY)
def test_logits_are_those_of_transformers_in_float32(saved: MakeFolder, name: str) -> None:
    folder = saved(name)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    compared = Compared(lean_runner(folder), model)
    for count in (2, 30, 97):  # of an odd and of an even number of committed entries
        compared.run(random_tokens(count, seed=count))
    check_float32(compared)


@pytest.mark.parametrize("name", ["llama-3", "mistral-window", "qwen2-window"])
def test_logits_are_those_of_transformers_over_several_pages(tmp_path: Path, name: str) -> None:
    window = {} if name == "llama-3" else {"sliding_window": 300}
    model = save_model(tmp_path, FAMILY[name](max_position_embeddings=1024, **window))
    compared = Compared(lean_runner(tmp_path), model)
    compared.run(random_tokens(700))
    for pages in (1, 2):  # steps that reach over the end of a page
        compared.run(random_tokens(pages * compared.runner.pages.positions - 3))
    check_float32(compared)


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.bfloat16) for name in FAMILY), ("llama", torch.float16)], ids=str
)
def test_half_precision_is_no_further_from_the_truth_than_that_of_transformers(
    saved: MakeFolder, name: str, dtype: torch.dtype
) -> None:
    folder = saved(name)
    rounded = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    exact = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():  # from the same weights
        for weight, source in zip(exact.parameters(), rounded.parameters(), strict=True):
            weight.copy_(source)
    rounded.save_pretrained(folder / "rounded")
    compared = Compared(lean_runner(folder / "rounded", dtype), exact, rounded)
    compared.run(random_tokens(60))
    if name == "llama":
        compared.run(random_tokens(300))
    rows, (truth, theirs) = compared.everything()
    error, their_error = (rows - truth).abs().mean(), (theirs - truth).abs().mean()
    assert 0 < error <= 1.1 * their_error


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"use_sliding_window": True},
        {"sliding_window": 7},
        {"sliding_window": 7, "use_sliding_window": True},
        {"sliding_window": 7, "use_sliding_window": True, "max_window_layers": 5},
        {"sliding_window": None, "use_sliding_window": True},
        {"rope_theta": 5000.0},
        {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_theta": 5e5, "rope_scaling": {key: LLAMA3[key] for key in LLAMA3 if key != "rope_theta"}},
        {"rope_parameters": LLAMA3},
        {"head_dim": 16, "attention_bias": True, "mlp_bias": True},
        {"num_key_value_heads": None, "head_dim": None},
        {"num_key_value_heads": 4, "rms_norm_eps": 1e-3, "tie_word_embeddings": True, "max_position_embeddings": 99},
    ],
    ids=str,
)
def test_what_a_config_leaves_out_means_the_same_as_in_transformers(
    kind: str, said: dict[str, Any], tmp_path: Path
) -> None:
    """Configs of earlier versions, or written by hand; transformers saves them in full."""
    sizes = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 96}
    config = {"model_type": kind, **sizes, "num_hidden_layers": 32, "num_attention_heads": 32, **said}
    if kind in ("mistral", "qwen3") and "head_dim" in said and said["head_dim"] is None:
        pytest.skip("transformers does not take a null here")
    (tmp_path / "config.json").write_text(json.dumps(config))
    AutoConfig.from_pretrained(tmp_path).save_pretrained(tmp_path)
    full = json.loads((tmp_path / "config.json").read_text())
    assert dataclasses.asdict(read_architecture(config)) == dataclasses.asdict(read_architecture(full))


YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 64}
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32,
    "short_factor": [1.0] * 4, "long_factor": [2.0] * 4,
}  # fmt: skip
NOT_LEAN: dict[str, tuple[dict[str, Any], str]] = {
    "activation": ({"hidden_act": "gelu"}, "silu only, and this model has gelu"),
    "yarn": ({"rope_parameters": YARN}, r"stretch positions as this model does \(yarn\)"),
    "longrope": ({"rope_parameters": LONGROPE}, r"\(longrope\)"),
    "dynamic": ({"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, r"\(dynamic\)"),
}


@pytest.mark.parametrize("name", NOT_LEAN)
def test_what_it_does_not_compute_is_left_to_transformers(name: str, tmp_path: Path) -> None:
    changes, said = NOT_LEAN[name]
    folder = save_tiny_llama(tmp_path / "llama", **changes)
    with pytest.raises(NotLean, match=said):
        read_architecture(json.loads((folder / "config.json").read_text()))
    with pytest.raises(ModelError, match=rf"the lean runner does not take .*{said}.*leave runner at .auto.") as failure:
        load(folder, Wish(device="cpu", runner="lean"))
    assert str(folder) in str(failure.value)
    assert "\n" not in str(failure.value)
    assert load(folder, Wish(device="cpu")).runner_name == "transformers"


@pytest.mark.parametrize("name", sorted({*REWINDABLE, *RUNNING_STATE} - set(KNOWN)))
def test_other_architectures_are_left_to_transformers(name: str) -> None:
    config = {**REWINDABLE, **RUNNING_STATE}[name]()
    with pytest.raises(NotLean, match=f"this one is {config.model_type}"):
        read_architecture(config.to_dict())


@pytest.mark.parametrize("name", KNOWN)
def test_the_family_is_not(name: str, tmp_path: Path) -> None:
    config = REWINDABLE[name]()
    config.vocab_size = len(tiny_tokenizer())
    save_model(tmp_path, config)
    tiny_tokenizer().save_pretrained(tmp_path)
    assert load(tmp_path, Wish(device="cpu")).runner_name == "lean"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": None}, "names no model_type"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised in a way it does not read"),
        ({"num_attention_heads": 6, "num_key_value_heads": 4}, "4 key heads .* among 6 heads"),
        ({"head_dim": 7}, "of width 7"),
        ({"hidden_size": 0}, "says no hidden_size"),
        ({"vocab_size": "many"}, "says no vocab_size"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "by llama3 without saying how far"),
        ({"rope_parameters": {"rope_type": "linear", "factor": None}}, "by linear without saying how far"),
        ({"partial_rotary_factor": 0.5}, "stretch positions"),
        ({"num_key_value_heads": "x"}, "holds values that are none"),
        ({"head_dim": "x"}, "holds values that are none"),
        ({"rms_norm_eps": [1]}, "holds values that are none"),
        ({"max_position_embeddings": -1}, "says no max_position_embeddings"),
        ({"model_type": "mistral", "sliding_window": "x"}, "says no sliding_window"),
    ],
    ids=str,
)
def test_a_config_it_cannot_follow_is_not_taken(changes: dict[str, Any], said: str) -> None:
    config = {**FAMILY["llama"]().to_dict(), **changes}
    with pytest.raises(NotLean, match=said):
        read_architecture(config)


def test_more_layers_than_any_model_has_are_refused_before_they_are_made() -> None:
    with pytest.raises(ModelError, match="more than 10,000 layers"):
        read_architecture({**FAMILY["llama"]().to_dict(), "num_hidden_layers": 10**30})


def test_layer_types_it_does_not_know_are_not_taken() -> None:
    config = FAMILY["qwen2-window"]().to_dict()
    assert read_architecture(config).windows == (None, SHORT_WINDOW)
    for kinds in (["sliding_attention"], ["sliding_attention", "chunked_attention"]):
        with pytest.raises(NotLean, match="does not know the layer types"):
            read_architecture({**config, "layer_types": kinds})
