"""A folder loads as transformers would load it, without the network, or is refused in one sentence."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.loading import UNLIMITED_CONTEXT, LoadedModel, load
from lookahead_cli.models.sources import locate
from tests.tiny_models import CONTEXT, TURN_END, save_tiny_llama, tiny_tokenizer

NOTHING: frozenset[str] = frozenset()


def load_folder(
    folder: Path,
    *,
    dtype: str = "auto",
    device: str = "cpu",
    context_length: int | None = None,
    allow: frozenset[str] = NOTHING,
) -> LoadedModel:
    return load(folder, dtype=dtype, device=device, context_length=context_length, allow=allow)


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


def test_loaded_model_is_that_of_transformers_and_touches_no_network(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32)

    def forbid(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", forbid)
    monkeypatch.setattr(socket, "getaddrinfo", forbid)
    loaded = load_folder(locate(str(llama)))
    ids = loaded.tokenizer("hello world", return_tensors="pt").input_ids
    assert torch.equal(loaded.model(ids).logits, reference(ids).logits)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert (loaded.dtype, loaded.device, loaded.folder) == (torch.float32, torch.device("cpu"), llama)
    assert (loaded.context_length, loaded.eos_token_ids) == (CONTEXT, frozenset({TURN_END}))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_dtype_is_that_of_every_weight(llama: Path, name: str) -> None:
    loaded = load_folder(llama, dtype=name)
    assert {str(weight.dtype) for weight in loaded.model.parameters()} == {f"torch.{name}"} == {str(loaded.dtype)}


def test_unknown_dtype_and_absent_device_name_what_there_is(llama: Path) -> None:
    with pytest.raises(ModelError, match="'int8', which is not one of auto, float32"):
        load_folder(llama, dtype="int8")
    with pytest.raises(ModelError, match=r"device is 'cuda:99', but this machine has only .*cpu; choose"):
        load_folder(llama, device="cuda:99")
    with pytest.raises(ModelError, match="device is 'tpu', which is not auto, cpu, cuda, cuda:N or mps"):
        load_folder(llama, device="tpu")
    assert load_folder(llama, device="auto").device.type in ("cpu", "cuda", "mps")


def test_context_length_is_at_most_the_models_own(llama: Path) -> None:
    assert load_folder(llama, context_length=17).context_length == 17
    with pytest.raises(ModelError, match=f"context_length is {CONTEXT + 1}, but .* takes {CONTEXT} tokens at most"):
        load_folder(llama, context_length=CONTEXT + 1)
    with pytest.raises(ModelError, match="context_length is 0"):
        load_folder(llama, context_length=0)


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
    assert type(load_folder(tmp_path).model) is GPTNeoXForCausalLM


def test_end_tokens_come_from_the_first_place_that_names_any(llama: Path) -> None:
    change_json(llama / "generation_config.json", eos_token_id=[5, 9], _from_model_config=None)
    assert load_folder(llama).eos_token_ids == {5, 9}
    (llama / "generation_config.json").unlink()
    change_json(llama / "config.json", eos_token_id=7)
    assert load_folder(llama).eos_token_ids == {7}
    change_json(llama / "config.json", eos_token_id=None)
    loaded = load_folder(llama)
    assert loaded.eos_token_ids <= {2}  # LlamaConfig's own default, or the tokenizer's


def test_pickle_weights_are_refused_with_the_line_that_allows_them(llama: Path) -> None:
    import torch

    reference = load_folder(llama)
    as_pickle(llama)
    for use in (lambda: locate(str(llama)), lambda: load_folder(llama)):
        with pytest.raises(ModelError, match=r'pytorch_model\.bin.*allow = \["pickle"\] under \[model\]'):
            use()
    allow = frozenset({"pickle"})
    loaded = load_folder(locate(str(llama), allow=allow), allow=allow)
    assert torch.equal(loaded.model.lm_head.weight, reference.model.lm_head.weight)


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
def test_code_beside_a_known_architecture_is_not_needed_and_never_run(
    llama: Path, file: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    (llama / "evil.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    change_json(llama / file, **changes)
    loaded = load_folder(locate(str(llama)))
    assert type(loaded.model).__name__ == "LlamaForCausalLM"
    assert not (tmp_path / "sprung").exists()


def test_allowed_remote_code_runs(llama: Path) -> None:
    (llama / "own.py").write_text("from transformers import LlamaForCausalLM\nclass Own(LlamaForCausalLM):\n    pass\n")
    change_json(llama / "config.json", auto_map={"AutoModelForCausalLM": "own.Own"})
    loaded = load_folder(llama, allow=frozenset({"remote-code"}))
    assert type(loaded.model).__name__ == "Own"


def test_a_context_ends_where_positions_would_be_encoded_anew(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32,
        "short_factor": [1.0] * 4, "long_factor": [2.0] * 4,
    }  # fmt: skip
    folder = save_tiny_llama(tmp_path / "long", rope_parameters=scaling, max_position_embeddings=128)
    assert load_folder(folder).context_length == 32
    with pytest.raises(ModelError, match="takes 32 tokens at most"):
        load_folder(folder, context_length=64)


def test_weights_over_several_files(llama: Path) -> None:
    import torch
    from transformers import LlamaForCausalLM

    reference = load_folder(llama)
    (llama / "model.safetensors").unlink()
    reference.model.save_pretrained(llama, max_shard_size="30KB")
    assert (llama / "model.safetensors.index.json").exists()
    loaded = load_folder(locate(str(llama)))
    assert isinstance(loaded.model, LlamaForCausalLM)
    assert torch.equal(loaded.model.lm_head.weight, reference.model.lm_head.weight)
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
        (lambda f: change_json(f / "config.json", model_type=None), "names no model_type"),
        (lambda f: change_json(f / "config.json", model_type="brandnew"), r"architecture brandnew, which transformers"),
        (lambda f: change_json(f / "config.json", model_type="t5"), "is no causal language model .*t5"),
        (lambda f: change_json(f / "config.json", model_type="bert"), "is no causal language model .*bert"),
        (lambda f: change_json(f / "config.json", model_type="bart"), "is no causal language model .*bart"),
        (lambda f: change_json(f / "config.json", model_type="vit"), "is no causal language model .*vit"),
        (
            lambda f: change_json(f / "config.json", hidden_size="wide"),
            r"cannot be loaded \(Validation error for field .hidden_size.: ",
        ),
        (
            lambda f: change_json(f / "config.json", num_hidden_layers=3),
            r"lacks 9 of the model's weights, model\.layers\.2",
        ),
        (lambda f: change_json(f / "config.json", intermediate_size=48), r"stores .*in the shape \(.*asks for \("),
        (lambda f: change_json(f / "config.json", quantization_config={"quant_method": "awq"}), "(cannot be|missing)"),
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
def test_damaged_folder_is_told_in_one_sentence(llama: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(llama)
    with pytest.raises(ModelError, match=said) as failure:
        load_folder(locate(str(llama)))
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
def test_out_of_memory_is_told(llama: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", fail)
    with pytest.raises(ResourceError, match="not enough memory; choose a smaller model"):
        load_folder(llama)


def test_slow_tokenizer_is_refused(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", lambda *_, **__: object())
    with pytest.raises(ModelError, match="only a slow tokenizer"):
        load_folder(llama)


def test_loading_shows_nothing_of_the_libraries(llama: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_folder(llama)
    assert capfd.readouterr() == ("", "")


def test_seed_decides_the_tiny_model(tmp_path: Path) -> None:
    import torch

    first, same, other = (save_tiny_llama(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    weights = [load_folder(folder).model.lm_head.weight for folder in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
