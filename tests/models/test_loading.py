"""A folder loads as transformers would load it, for each runner, without the network, or is refused in one sentence."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.loading import UNLIMITED_CONTEXT, LoadedModel, Wish, load
from lookahead_cli.models.sources import locate
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.tiny_models import CONTEXT, TURN_END, save_tiny_llama, tiny_tokenizer

IDS = [5, 40, 41, 42, 9, 77]
with_each_runner = pytest.mark.parametrize("runner", ["lean", "transformers"])


def load_folder(folder: Path, **wish: Any) -> LoadedModel:
    return load(folder, Wish(**{"device": "cpu", **wish}))


def model_of(loaded: LoadedModel) -> Any:
    """The transformers model inside."""
    assert isinstance(loaded.runner, TransformersRunner)
    return loaded.runner.model


def next_logits(loaded: LoadedModel) -> Any:
    """Logits (1, vocab) after IDS."""
    loaded.runner.prefill(IDS[:-1])
    return loaded.runner.step(IDS[-1], [], [])


def change_json(file: Path, **changes: Any) -> None:
    """Set keys of a JSON file; None deletes one."""
    document = json.loads(file.read_text()) if file.exists() else {}
    document.update(changes)
    file.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))


def as_pickle(folder: Path) -> None:
    """Turn the safetensors weights in `folder` into a pickle file."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@with_each_runner
def test_loaded_model_is_that_of_transformers_and_touches_no_network(
    llama: Path, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32)

    def forbid(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", forbid)
    monkeypatch.setattr(socket, "getaddrinfo", forbid)
    loaded = load_folder(locate(str(llama)), dtype="float32", runner=runner)
    with torch.inference_mode():
        expected = reference(torch.tensor([IDS])).logits[0, -1:]
    torch.testing.assert_close(next_logits(loaded), expected, rtol=1e-4, atol=1e-4)
    assert (loaded.dtype, loaded.device, loaded.folder) == (torch.float32, torch.device("cpu"), llama)
    assert (loaded.context_length, loaded.eos_token_ids) == (CONTEXT, frozenset({TURN_END}))
    assert loaded.runner_name == runner
    assert loaded.runner.vocab == reference.config.vocab_size
    assert loaded.dependent_rows is None
    assert loaded.generation["eos_token_id"] == TURN_END
    assert loaded.parameters == pytest.approx(reference.num_parameters(), rel=0.02), "norms may be left out"


def test_what_is_being_loaded_is_not_called_by_a_folder_of_the_cache(llama: Path) -> None:
    said: list[str] = []
    load(llama, Wish(device="cpu"), lambda activity, fraction=None: said.append(activity))
    assert said == ["loading the weights"]


def test_the_transformers_model_is_ready_to_run(llama: Path) -> None:
    model = model_of(load_folder(llama, runner="transformers"))
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())


def test_the_runner_is_the_lean_one_where_it_can_be(llama: Path) -> None:
    assert load_folder(llama).runner_name == "lean"
    assert load_folder(llama, runner="transformers").runner_name == "transformers"
    as_pickle(llama)
    assert load_folder(llama, allow=frozenset({"pickle"})).runner_name == "transformers"
    with pytest.raises(
        ModelError, match=r"lean runner does not take .*: it reads weights from safetensors only; leave"
    ):
        load_folder(llama, runner="lean", allow=frozenset({"pickle"}))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_dtype_is_that_of_every_weight(llama: Path, name: str) -> None:
    loaded = load_folder(llama, dtype=name, runner="transformers")
    assert {str(weight.dtype) for weight in model_of(loaded).parameters()} == {f"torch.{name}"} == {str(loaded.dtype)}
    assert str(load_folder(llama, dtype=name, runner="lean").dtype) == f"torch.{name}"


def test_auto_is_half_precision_only_where_it_is_fast_and_tokens_stay_the_same(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    assert load_folder(llama, runner="transformers").dtype == torch.float32
    for fast in (True, False):
        monkeypatch.setattr("lookahead_cli.models.devices.multiplies_bfloat16", lambda fast=fast: fast)
        for reason in (None, "the reason"):

            def dependent_rows(*arguments: Any, reason: str | None = reason) -> str | None:
                return reason if torch.bfloat16 in arguments else None

            monkeypatch.setattr("lookahead_cli.models.lean.exactness.dependent_rows", dependent_rows)
            loaded = load_folder(llama, runner="lean")
            assert loaded.dtype == (torch.bfloat16 if fast and reason is None else torch.float32)
            assert loaded.dependent_rows is None
            asked = load_folder(llama, runner="lean", dtype="bfloat16")
            assert (asked.dtype, asked.dependent_rows) == (torch.bfloat16, reason)


def test_unknown_dtype_and_absent_device_name_what_there_is(llama: Path) -> None:
    with pytest.raises(ModelError, match="'int8', which is not one of auto, float32"):
        load_folder(llama, dtype="int8")
    with pytest.raises(ModelError, match=r"device is 'cuda:99', but this machine has only .*cpu; choose"):
        load_folder(llama, device="cuda:99")
    with pytest.raises(ModelError, match="device is 'tpu', which is not auto, cpu, cuda, cuda:N or mps"):
        load_folder(llama, device="tpu")
    assert load_folder(llama, device="auto").device.type in ("cpu", "cuda", "mps")


@with_each_runner
def test_context_length_is_at_most_the_models_own(llama: Path, runner: str) -> None:
    assert load_folder(llama, context_length=17, runner=runner).context_length == 17
    with pytest.raises(ModelError, match=f"context_length is {CONTEXT + 1}, but .* takes {CONTEXT} tokens at most"):
        load_folder(llama, context_length=CONTEXT + 1, runner=runner)
    with pytest.raises(ModelError, match="context_length is 0"):
        load_folder(llama, context_length=0, runner=runner)


def test_context_length_of_other_architectures(tmp_path: Path) -> None:
    from transformers import BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel

    size = len(tiny_tokenizer())
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=size, n_positions=64, n_embd=16, n_layer=1, n_head=2))
    bloom = BloomForCausalLM(BloomConfig(vocab_size=size, hidden_size=16, n_layer=1, n_head=2))
    for model, own in ((gpt2, 64), (bloom, UNLIMITED_CONTEXT)):
        folder = tmp_path / type(model).__name__
        model.save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
        assert load_folder(folder).context_length == own
    assert load_folder(folder, context_length=10**6).context_length == 10**6


def test_model_that_leaves_is_decoder_unset_is_still_causal(tmp_path: Path) -> None:
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=len(tiny_tokenizer()), **sizes)).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    assert type(model_of(load_folder(tmp_path))) is GPTNeoXForCausalLM


@with_each_runner
def test_end_tokens_come_from_the_first_place_that_names_any(llama: Path, runner: str) -> None:
    change_json(llama / "generation_config.json", eos_token_id=[5, 9], _from_model_config=None)
    assert load_folder(llama, runner=runner).eos_token_ids == {5, 9}
    (llama / "generation_config.json").unlink()
    change_json(llama / "config.json", eos_token_id=7)
    assert load_folder(llama, runner=runner).eos_token_ids == {7}
    change_json(llama / "config.json", eos_token_id=None)
    loaded = load_folder(llama, runner=runner)
    assert loaded.eos_token_ids <= {2}  # LlamaConfig's own default, or the tokenizer's


def test_pickle_weights_are_refused_with_the_line_that_allows_them(llama: Path) -> None:
    import torch

    reference = load_folder(llama, runner="transformers")
    as_pickle(llama)
    for use in (lambda: locate(str(llama)), lambda: load_folder(llama)):
        with pytest.raises(ModelError, match=r'pytorch_model\.bin.*allow = \["pickle"\] under \[model\]'):
            use()
    allow = frozenset({"pickle"})
    loaded = load_folder(locate(str(llama), allow=allow), allow=allow)
    assert torch.equal(model_of(loaded).lm_head.weight, model_of(reference).lm_head.weight)


def test_allowed_pickle_still_runs_no_code(llama: Path, tmp_path: Path) -> None:
    import torch

    class Trap:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Path]]:
            return (Path.touch, (tmp_path / "sprung",))

    (llama / "model.safetensors").unlink()
    torch.save({"model.norm.weight": Trap()}, llama / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot be loaded") as failure:
        load_folder(llama, allow=frozenset({"pickle"}))
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "sprung").exists()


def test_safetensors_beside_pickle_need_no_permission(llama: Path) -> None:
    (llama / "pytorch_model.bin").write_bytes(b"never read")
    load_folder(locate(str(llama)))


@pytest.mark.parametrize("name", ["weights.pt", "consolidated.00.pth", "last.ckpt"])
def test_other_pickle_files_are_refused_too(llama: Path, name: str) -> None:
    (llama / "model.safetensors").rename(llama / name)
    with pytest.raises(ModelError, match=r'allow = \["pickle"\]'):
        locate(str(llama))
    with pytest.raises(ModelError, match=f"{name}, which transformers does not load"):
        locate(str(llama), allow=frozenset({"pickle"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"auto_map": {"AutoModelForCausalLM": "evil.Model"}, "model_type": "of-its-own"},
        {"attn_implementation": "someone/kernels"},
    ],
    ids=["own-architecture", "kernels"],
)
def test_remote_code_is_refused_with_the_line_that_allows_it(
    llama: Path, changes: dict[str, Any], tmp_path: Path
) -> None:
    (llama / "evil.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    change_json(llama / "config.json", **changes)
    for use in (lambda: locate(str(llama)), lambda: load_folder(llama)):
        with pytest.raises(ModelError, match=r'in config.json\).*allow = \["remote-code"\] under \[model\]'):
            use()
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"auto_map": {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}}),
    ],
)
@with_each_runner
def test_code_beside_a_known_architecture_is_not_needed_and_never_run(
    llama: Path, file: str, changes: dict[str, Any], tmp_path: Path, runner: str
) -> None:
    (llama / "evil.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    change_json(llama / file, **changes)
    loaded = load_folder(locate(str(llama)), runner=runner)
    assert runner == "lean" or type(model_of(loaded)).__name__ == "LlamaForCausalLM"
    assert not (tmp_path / "sprung").exists()


def test_allowed_remote_code_runs(llama: Path) -> None:
    (llama / "own.py").write_text("from transformers import LlamaForCausalLM\nclass Own(LlamaForCausalLM):\n    pass\n")
    change_json(llama / "config.json", auto_map={"AutoModelForCausalLM": "own.Own"})
    loaded = load_folder(llama, allow=frozenset({"remote-code"}))
    assert type(model_of(loaded)).__name__ == "Own"
    with pytest.raises(ModelError, match=r"lean runner does not take .*: it runs none of the code"):
        load_folder(llama, runner="lean", allow=frozenset({"remote-code"}))


def test_a_context_ends_where_positions_would_be_encoded_anew(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32,
        "short_factor": [1.0] * 4, "long_factor": [2.0] * 4,
    }  # fmt: skip
    folder = save_tiny_llama(tmp_path / "long", rope_parameters=scaling, max_position_embeddings=128)
    assert load_folder(folder).context_length == 32
    with pytest.raises(ModelError, match="takes 32 tokens at most"):
        load_folder(folder, context_length=64)


@with_each_runner
def test_weights_over_several_files(llama: Path, runner: str) -> None:
    import torch

    expected = next_logits(load_folder(llama, dtype="float32", runner=runner))
    whole = model_of(load_folder(llama, runner="transformers"))
    (llama / "model.safetensors").unlink()
    whole.save_pretrained(llama, max_shard_size="30KB")
    assert (llama / "model.safetensors.index.json").exists()
    # Not bit for bit: weights of transformers stay where they are in the file, and kernels care for alignment.
    again = next_logits(load_folder(locate(str(llama)), dtype="float32", runner=runner))
    torch.testing.assert_close(again, expected, rtol=1e-5, atol=1e-5)
    shard = max(llama.glob("model-*.safetensors"))
    shard.unlink()
    with pytest.raises(ModelError, match=rf"lacks {shard.name}, which model\.safetensors\.index\.json names"):
        locate(str(llama))


def test_index_of_safetensors_must_not_name_a_pickle(llama: Path) -> None:
    as_pickle(llama)
    change_json(llama / "model.safetensors.index.json", weight_map={"model.norm.weight": "pytorch_model.bin"})
    with pytest.raises(ModelError, match=r"names pytorch_model\.bin, which is no safetensors file"):
        locate(str(llama))


def _truncate(file: Path, size: int) -> None:
    with file.open("r+b") as opened:
        opened.truncate(size)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "config.json").unlink(), "there is no config.json in it"),
        (lambda f: (f / "config.json").write_text('{"a": }'), r"config\.json is not valid JSON \(line 1, column 7"),
        (lambda f: (f / "config.json").write_text("[]"), "does not hold a JSON object"),
        (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), "is not valid JSON"),
        (lambda f: change_json(f / "config.json", num_hidden_layers=3), r"lacks .* weight.*model\.layers\.2"),
        (lambda f: change_json(f / "config.json", intermediate_size=48), r"stores .*in the shape \(.*asks for \("),
        (lambda f: change_json(f / "config.json", transformers_weights="x.bin"), "names x.bin as its weights"),
        (lambda f: (f / "model.safetensors").unlink(), "has no weights"),
        (lambda f: _truncate(f / "model.safetensors", 4), r"model\.safetensors is damaged or cut short"),
        (lambda f: _truncate(f / "model.safetensors", 1000), r"model\.safetensors is damaged or cut short"),
        (lambda f: _truncate(f / "model.safetensors", 50_000), r"model\.safetensors is damaged or cut short"),
        (lambda f: (f / "model.safetensors").rename(f / "other.safetensors"), "rename a single weights file"),
        (lambda f: (f / "tokenizer.json").unlink(), "has no tokenizer"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "The tokenizer in .* cannot be loaded"),
        (lambda f: (f / "tokenizer_config.json").write_text("{"), r"tokenizer_config\.json is not valid JSON"),
        (lambda f: (f / "generation_config.json").write_text("{"), r"generation_config\.json is not valid JSON"),
    ],
)
@with_each_runner
def test_damaged_folder_is_told_in_one_sentence(
    llama: Path, spoil: Callable[[Path], object], said: str, runner: str
) -> None:
    spoil(llama)
    with pytest.raises(ModelError, match=said) as failure:
        load_folder(locate(str(llama)), runner=runner)
    assert str(llama) in str(failure.value)
    assert "\n" not in str(failure.value)
    assert "Error" not in str(failure.value)


@pytest.mark.parametrize(
    ("changes", "said", "said_of_lean"),
    [
        ({"model_type": None}, "names no model_type", "this one names no model_type"),
        ({"model_type": "brandnew"}, r"architecture brandnew, which transformers", "this one is brandnew"),
        ({"model_type": "t5"}, "is no causal language model .*t5", "this one is t5"),
        ({"model_type": "bert"}, "is no causal language model .*bert", "this one is bert"),
        ({"model_type": "bart"}, "is no causal language model .*bart", "this one is bart"),
        ({"model_type": "vit"}, "is no causal language model .*vit", "this one is vit"),
        ({"hidden_size": "wide"}, r"cannot be loaded \(Validation error for field .hidden_size.: ", "hidden_size"),
        ({"quantization_config": {"quant_method": "awq"}}, "(cannot be|missing)", "quantised in a way"),
    ],
    ids=str,
)
def test_a_config_of_something_else_is_told_in_one_sentence(
    llama: Path, changes: dict[str, Any], said: str, said_of_lean: str
) -> None:
    change_json(llama / "config.json", **changes)
    for runner, expected in (("auto", said), ("transformers", said), ("lean", said_of_lean)):
        with pytest.raises(ModelError, match=expected) as failure:
            load_folder(locate(str(llama)), runner=runner)
        assert str(llama) in str(failure.value)
        assert "\n" not in str(failure.value)
        assert "Error" not in str(failure.value)


def test_unreadable_folder_is_told(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", forbid)  # as root, permission bits forbid nothing
    with pytest.raises(ModelError, match=r"config\.json cannot be read: Permission denied"):
        locate(str(llama))
    monkeypatch.setattr("pathlib.Path.is_file", forbid)
    with pytest.raises(ModelError, match="llama cannot be read: Permission denied"):
        load_folder(llama)


def test_folders_that_are_something_else_are_told_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    with pytest.raises(ModelError, match=r"name one of the files itself, such as .*model\.gguf"):
        locate(str(tmp_path))
    (tmp_path / "model.gguf").unlink()
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="is an adapter"):
        locate(str(tmp_path))


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")]
)
@with_each_runner
def test_out_of_memory_is_told(llama: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, runner: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", fail)
    monkeypatch.setattr("lookahead_cli.models.lean.weights.read_weights", fail)
    with pytest.raises(ResourceError, match="not enough memory; choose a smaller model"):
        load_folder(llama, runner=runner)


def test_a_model_larger_than_the_memory_is_refused_before_it_is_read(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookahead_cli.models.devices.free_main_memory", lambda: 1000.0)
    with pytest.raises(ResourceError, match=r"llama in float32 needs .* GB of memory on cpu, but only 0\.0 GB is free"):
        load_folder(llama, runner="lean", dtype="float32")


def test_slow_tokenizer_is_refused(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", lambda *_, **__: object())
    with pytest.raises(ModelError, match="only a slow tokenizer"):
        load_folder(llama, runner="transformers")
    change_json(llama / "tokenizer_config.json", tokenizer_class="LlamaTokenizer")  # for which transformers is asked
    with pytest.raises(ModelError, match="only a slow tokenizer"):
        load_folder(llama, runner="lean")


@with_each_runner
def test_loading_shows_nothing_of_the_libraries(llama: Path, capfd: pytest.CaptureFixture[str], runner: str) -> None:
    load_folder(llama, runner=runner)
    assert capfd.readouterr() == ("", "")


def test_seed_decides_the_tiny_model(tmp_path: Path) -> None:
    import torch

    first, same, other = (save_tiny_llama(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    weights = [model_of(load_folder(folder, runner="transformers")).lm_head.weight for folder in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_spread_over_all_devices_gives_the_same_logits_through_transformers(llama: Path) -> None:
    import torch

    spread = load_folder(llama, device="spread", dtype="float32")
    assert spread.runner_name == "transformers"
    whole = load_folder(llama, runner="transformers", dtype="float32")
    torch.testing.assert_close(next_logits(spread), next_logits(whole))


def test_a_cache_that_does_not_fit_is_told_with_numbers(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    loaded = load_folder(llama, runner="lean", dtype="float32")

    def full(*_: Any, **__: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(torch, "zeros", full)
    monkeypatch.setattr("lookahead_cli.models.devices.free_main_memory", lambda: 2e9)
    with pytest.raises(ResourceError, match=r"a KV cache of 0\.00 GB cannot be made on cpu, where 2\.00 GB is free"):
        loaded.runner.prefill(IDS)
