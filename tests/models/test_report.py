"""What is said about a model is what loading it would find, and nothing is loaded or fetched for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.models.loading import Wish, load
from lookahead_cli.models.needs import MANY
from lookahead_cli.models.packaged import SMOLLM2_135M
from lookahead_cli.models.report import EndToken, Report, report
from lookahead_cli.models.sources import locate, recognise
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.models.hub_server import tiny_hub, use_hub
from tests.models.made_hub_cache import BERT, COMMIT, GPT2, LLAMA, put, use_cache, whole_model
from tests.tiny_models import CONTEXT, HEADS, HIDDEN, KV_HEADS, LAYERS, TURN_END, save_tiny_llama, write_tiny_gguf

CPU = Wish(device="cpu")


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_cache(tmp_path / "hub", monkeypatch)


def told_of(source: object, wish: Wish = CPU) -> Report:
    return report(recognise(str(source)), "", wish)


def test_it_agrees_with_what_loading_finds(llama: Path) -> None:
    told, loaded = told_of(llama), load(llama, CPU)
    assert told.facts is not None
    assert told.needs is not None
    assert told.plan is not None
    assert told.folder == loaded.folder
    assert told.plan.runner == loaded.runner_name
    assert {end.id for end in told.end_tokens} == loaded.eos_token_ids
    assert told.facts.context_length == loaded.context_length
    assert f"torch.{told.needs.dtype}" == str(loaded.dtype)
    assert told.needs.weight_bytes == loaded.parameters * loaded.dtype.itemsize
    assert told.chat_template
    facts = told.facts
    assert (facts.layers, facts.hidden, facts.heads, facts.key_value_heads) == (LAYERS, HIDDEN, HEADS, KV_HEADS)
    assert facts.vocab == loaded.runner.vocab
    assert facts.dtypes == ("float32",)
    assert told.end_tokens == (EndToken(TURN_END, "<|im_end|>"),)
    assert told.disk_bytes == sum(file.stat().st_size for file in llama.iterdir())


def test_memory_for_the_context_is_what_the_cache_takes(llama: Path) -> None:
    loaded = load(llama, Wish(device="cpu", dtype="float32", runner="transformers"))
    assert isinstance(loaded.runner, TransformersRunner)
    for runner in ("lean", "transformers"):
        needs = told_of(llama, Wish(device="cpu", dtype="float32", runner=runner)).needs
        assert needs is not None
        assert needs.context_bytes == loaded.runner.bytes_for(MANY)


def test_weights_that_are_run_in_4_bits_take_less(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = knowledge_folder(llama)
    knowledge.mkdir(parents=True)
    kept = knowledge / "four-bit-v1-some-torch.safetensors"
    save_file({"a.packed": np.zeros((64, 16), np.uint8), "a.steps": np.zeros((1, 64, 2), np.float16)}, kept)
    monkeypatch.setattr("lookahead_cli.models.lean.fourbit.can_run", lambda *_: True)
    stored = told_of(llama, Wish(device="cpu", dtype="float32")).needs
    full = told_of(llama, Wish(device="cpu", dtype="float32", weights="full")).needs
    assert stored is not None
    assert full is not None
    assert (stored.four_bit, full.four_bit) == (True, False)
    assert (full.weight_bytes or 0) - (stored.weight_bytes or 0) == 64 * 32 * 4 - kept.stat().st_size


def test_own_settings_are_told_with_what_becomes_of_them(llama: Path) -> None:
    own = json.loads((llama / "generation_config.json").read_text())
    own |= {"repetition_penalty": 1.1, "no_repeat_ngram_size": 3, "temperature": 0.6, "eos_token_id": [2, 7]}
    (llama / "generation_config.json").write_text(json.dumps(own))
    told = told_of(llama)
    assert told.generation.repetition_penalty == 1.1
    assert told.generation.not_honoured == ("no_repeat_ngram_size",)
    assert told.generation.sampling == {"temperature": 0.6}
    assert [end.id for end in told.end_tokens] == [2, 7]


@pytest.mark.parametrize("quantised", [False, True])
def test_a_gguf_file_is_told_by_its_header_and_not_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantised: bool
) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", quantised=quantised, turn_end=1)
    with monkeypatch.context() as patch:
        patch.setattr("lookahead_cli.models.gguf.convert", pytest.fail)
        before = told_of(file)
    assert before.folder is None
    assert before.facts is not None
    assert before.facts.dtypes[0] == ("Q8_0" if quantised else "F32")
    locate(str(file))
    after = told_of(file)
    assert after.facts is not None
    assert after.folder is not None
    assert [end.id for end in before.end_tokens] == [end.id for end in after.end_tokens] == [1, TURN_END]
    assert before.chat_template
    assert before.plan == after.plan
    assert before.needs == after.needs
    for name in ("parameters", "dtypes", "layers", "hidden", "heads", "key_value_heads", "vocab", "context_length"):
        assert getattr(before.facts, name) == getattr(after.facts, name), name
    assert before.facts.context_length == CONTEXT


def test_a_gguf_file_that_cannot_be_converted_says_why(tmp_path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "picture.gguf", "clip")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    told = told_of(tmp_path / "picture.gguf")
    assert "holds no tokenizer" in told.obstacle
    assert told.plan is None


def test_the_packaged_model_that_is_not_here_says_what_it_takes_to_fetch_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookahead_cli.models.report.installed_gguf", lambda *_: None)
    told = told_of("smollm2-135m")
    assert (told.folder, told.fetch_bytes, told.facts) == (None, SMOLLM2_135M.wheel_bytes, None)


def test_the_packaged_model_that_is_installed_is_told_by_its_header(
    gguf_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookahead_cli.models.report.installed_gguf", lambda *_: gguf_file)
    told = told_of("smollm2-135m")
    assert told.facts is not None
    assert (told.folder, told.facts.layers) == (None, LAYERS)


def test_what_transformers_runs_is_told_with_its_defaults(hub_cache: Path) -> None:
    put(hub_cache, "owner/gpt", whole_model(GPT2))
    told = told_of("owner/gpt")
    assert told.facts is not None
    assert told.plan is not None
    assert told.needs is not None
    assert (told.plan.runner, told.needs.dtype) == ("transformers", "float32")
    assert (told.facts.layers, told.facts.context_length, told.facts.vocab) == (2, 32, 10)
    assert told.end_tokens == ()


def test_what_is_no_language_model_or_unknown_says_why_it_cannot_be_run(hub_cache: Path) -> None:
    put(hub_cache, "owner/bert", whole_model(BERT))
    put(hub_cache, "owner/new", whole_model({**GPT2, "model_type": "gpt9"}))
    put(hub_cache, "owner/code", whole_model({**GPT2, "model_type": "own", "auto_map": {"AutoConfig": "x.Y"}}))
    assert "no causal language model" in told_of("owner/bert").obstacle
    assert "does not know" in told_of("owner/new").obstacle
    assert "Python code of its own" in told_of("owner/code").obstacle
    assert told_of("owner/bert").plan is None


def test_pickle_weights_are_an_obstacle_unless_allowed(hub_cache: Path) -> None:
    files = whole_model(LLAMA, **{"pytorch_model.bin": b"x"})
    del files["model.safetensors"]
    put(hub_cache, "owner/pickled", files)
    assert 'allow = ["pickle"]' in told_of("owner/pickled").obstacle
    assert told_of("owner/pickled", Wish(device="cpu", allow=frozenset({"pickle"}))).obstacle == ""


def test_a_hub_model_that_is_not_here_needs_the_network_and_says_so(hub_cache: Path) -> None:
    with pytest.raises(ResourceError, match="owner/none is not complete in the local cache, and HF_HUB_OFFLINE"):
        told_of("owner/none")


def test_of_a_hub_model_that_is_not_here_only_small_files_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = tiny_hub(tmp_path)
    use_hub(hub, monkeypatch)
    try:
        told = told_of("owner/tiny")
    finally:
        hub.close()
    assert "model.safetensors" not in hub.downloaded()
    assert "evil.py" not in hub.downloaded()
    assert told.facts is not None
    assert told.plan is not None
    assert (told.folder, told.plan.runner, told.facts.layers) == (None, "lean", LAYERS)
    assert told.fetch_bytes == (hub.files / "model.safetensors").stat().st_size
    assert told.chat_template
    assert (hub.home / "hub" / "models--owner--tiny" / "snapshots" / COMMIT / "config.json").is_file()


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    save_tiny_llama(tmp_path / "llama")
    (tmp_path / "llama" / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match="damaged or cut short"):
        told_of(tmp_path / "llama")
