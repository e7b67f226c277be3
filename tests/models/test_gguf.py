"""GGUF files are converted once, exactly, and refused in one sentence when something is wrong with them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.checksum import remembered_sha256, sha256
from lookahead_cli.models.gguf import converted_folder
from lookahead_cli.models.gguf_header import read_header
from lookahead_cli.models.loading import Wish, load
from lookahead_cli.models.sources import locate
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.models.conftest import RecordedProgress
from tests.tiny_models import CONTEXT, TURN_END, write_tiny_gguf

TEXT = "hello world, def lookahead(): return 日本 😀"


def entries(cache: Path) -> list[str]:
    return sorted(file.name for file in (cache / "models").iterdir() if not file.name.endswith(".lock"))


def load_plainly(folder: Path) -> Any:
    return load(folder, Wish(dtype="float32", device="cpu", runner="transformers"))


def model_in(folder: Path) -> Any:
    """The transformers model."""
    runner = load_plainly(folder).runner
    assert isinstance(runner, TransformersRunner)
    return runner.model


@pytest.mark.parametrize("quantised", [False, True])
def test_converted_model_equals_what_transformers_reads_from_the_gguf(tmp_path: Path, quantised: bool) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = write_tiny_gguf(tmp_path / "tiny.gguf", quantised=quantised)
    original = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=file.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, gguf_file=file.name)
    folder = locate(str(file))
    loaded, model = load_plainly(folder), model_in(folder)

    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    assert torch.equal(loaded.tokenizer(TEXT, return_tensors="pt").input_ids, ids)
    assert loaded.tokenizer.chat_template == tokenizer.chat_template
    assert torch.equal(model(ids).logits, original(ids).logits)
    assert loaded.context_length == CONTEXT
    assert all(weight.is_floating_point() for weight in model.parameters())
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()

    lean = load(folder, Wish(dtype="float32", device="cpu", runner="lean"))
    assert lean.tokenizer(TEXT)["input_ids"] == ids[0].tolist()
    lean.runner.prefill(ids[0, :-1].tolist())
    logits = lean.runner.step(int(ids[0, -1]), [], [])
    torch.testing.assert_close(logits[0], original(ids).logits[0, -1], rtol=1e-3, atol=1e-3)


def test_all_end_tokens_of_the_gguf_count_here_and_in_generate(tmp_path: Path) -> None:
    folder = locate(str(write_tiny_gguf(tmp_path / "tiny.gguf", turn_end=7)))
    assert json.loads((folder / "generation_config.json").read_text())["eos_token_id"] == [TURN_END, 7]
    loaded = load_plainly(folder)
    assert loaded.eos_token_ids == {TURN_END, 7}
    assert model_in(folder).generation_config.eos_token_id == [TURN_END, 7]


def test_second_start_neither_hashes_nor_converts(
    gguf_file: Path, progress: RecordedProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locate(str(gguf_file), progress=progress)
    assert any(activity.startswith("converting") for activity in progress.activities)
    progress.calls.clear()
    monkeypatch.setattr("lookahead_cli.models.gguf.convert", pytest.fail)
    assert locate(str(gguf_file), progress=progress) == first
    assert progress.calls == []


def test_cache_is_keyed_by_content_not_by_name(gguf_file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other name.gguf"
    copy.write_bytes(gguf_file.read_bytes())
    assert locate(str(gguf_file)) == locate(str(copy))
    copy.unlink()
    assert locate(str(write_tiny_gguf(copy, seed=1))) != locate(str(gguf_file))


def test_file_of_the_same_name_in_the_current_directory_is_not_taken(
    gguf_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    expected = model_in(locate(str(write_tiny_gguf(tmp_path / "expected.gguf", seed=5)))).lm_head.weight
    (tmp_path / "elsewhere").mkdir()
    write_tiny_gguf(tmp_path / "elsewhere" / gguf_file.name, seed=5)
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "other cache"))
    monkeypatch.chdir(gguf_file.parent)
    weight = model_in(locate(f"elsewhere/{gguf_file.name}")).lm_head.weight
    assert torch.equal(weight, expected)


def test_one_part_of_a_split_model_is_refused(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_header(gguf_file)
    part = replace(whole, metadata={**whole.metadata, "split.count": 3})
    monkeypatch.setattr("lookahead_cli.models.gguf.read_header", lambda _: part)
    with pytest.raises(ModelError, match="llama-gguf-split --merge"):
        locate(str(gguf_file))


def test_unforeseen_disk_error_is_told_too(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("lookahead_cli.models.cache.tempfile.mkdtemp", fail)
    with pytest.raises(ResourceError, match=r"cannot be stored in the cache folder .* \(Input/output error\)"):
        locate(str(gguf_file))


def test_conversion_shows_only_our_progress(gguf_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    locate(str(gguf_file))
    assert capfd.readouterr() == ("", "")


def test_checksum_is_computed_again_when_the_file_changes(tmp_path: Path) -> None:
    file, index = tmp_path / "file", tmp_path / "index.json"
    file.write_bytes(b"one")
    assert remembered_sha256(file, index) == sha256(file)
    file.write_bytes(b"three")
    assert remembered_sha256(file, index) == sha256(file)
    index.write_text("not json")
    assert remembered_sha256(file, index) == sha256(file)


def test_entry_that_lost_a_file_is_built_again(gguf_file: Path) -> None:
    folder = locate(str(gguf_file))
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.truncate(100)
    (folder / "tokenizer.json").unlink()
    load_plainly(locate(str(gguf_file)))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: b"GGML" + content[4:], "is not a GGUF file"),
        (lambda content: content[:0], "is not a GGUF file"),
        (lambda content: content[:4], "end inside the header"),
        (lambda content: content[:300], "end inside the header"),
        (lambda content: content[:-1000], "is cut short: "),
        (lambda content: content[:4] + b"\x00\x00\x00\x03" + content[8:], "another byte order"),
        (lambda content: content[:4] + b"\x01\x00\x00\x00" + content[8:], "GGUF version 1"),
        (lambda content: content[:8] + b"\xff" * 16 + content[24:], "is (cut short|damaged)"),
    ],
)
def test_damaged_gguf_is_told_in_one_sentence(gguf_file: Path, cache: Path, spoil: Any, said: str) -> None:
    gguf_file.write_bytes(spoil(gguf_file.read_bytes()))
    with pytest.raises(ModelError, match=said) as failure:
        locate(str(gguf_file))
    assert str(gguf_file) in str(failure.value)
    assert "\n" not in str(failure.value)
    assert not cache.exists()


def test_every_truncation_and_every_broken_byte_of_the_header_is_survived(gguf_file: Path) -> None:
    content = gguf_file.read_bytes()
    for length in range(0, 2000, 7):
        gguf_file.write_bytes(content[:length])
        with pytest.raises(ModelError):
            read_header(gguf_file)
    for place in range(0, 600, 3):
        gguf_file.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        try:
            read_header(gguf_file)
        except ModelError as error:
            assert "\n" not in str(error)  # noqa: PT017 - not every broken byte is an error


def test_unsupported_gguf_architecture_names_it(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", architecture="rwkv7")
    with pytest.raises(ModelError, match=r"architecture rwkv7, which transformers 5\.\d+.* cannot read from GGUF"):
        locate(str(file))


def test_gguf_without_one_tensor_is_refused(gguf_file: Path, cache: Path) -> None:
    content = gguf_file.read_bytes()
    gguf_file.write_bytes(content.replace(b"blk.1.ffn_up.weight", b"blk.1.ffn_uq.weight"))
    with pytest.raises(ModelError, match=r"lacks 1 of the model's weights, model\.layers\.1\.mlp\.up_proj\.weight"):
        locate(str(gguf_file))
    assert entries(cache) == []


@pytest.mark.parametrize("where", ["replace", "save"])
def test_full_disk_is_one_sentence_and_leaves_nothing(
    gguf_file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        if where == "replace":
            raise OSError(28, "No space left on device")
        from safetensors import SafetensorError

        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    if where == "replace":
        monkeypatch.setattr("lookahead_cli.models.cache.os.replace", fail)
    else:
        monkeypatch.setattr("transformers.PreTrainedModel.save_pretrained", fail)
    with pytest.raises(ResourceError, match=r"tiny\.gguf cannot be stored in the cache folder .*: the disk is full"):
        locate(str(gguf_file))
    assert entries(cache) == []


def test_too_little_space_is_told_before_converting(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1_000_000

    monkeypatch.setattr("lookahead_cli.models.cache.shutil.disk_usage", lambda _: Usage)
    with pytest.raises(ResourceError, match=r"needs 32 MB on the disk of .*, but only 1 MB is free"):
        locate(str(gguf_file))


def test_real_write_failure_while_saving_is_one_sentence(gguf_file: Path, cache: Path) -> None:
    code = (
        "import resource, sys; from lookahead_cli.models.sources import locate; import transformers\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); locate(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(gguf_file)], capture_output=True, text=True, check=False)
    assert "ResourceError: tiny.gguf cannot be stored in the cache folder" in done.stderr.splitlines()[-1]
    assert entries(cache) == []


def test_cache_folder_that_is_a_file_is_told(gguf_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("")
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "occupied"))
    with pytest.raises(ResourceError, match="a file stands where a folder is needed"):
        locate(str(gguf_file))


def test_unwritable_cache_folder_is_told(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "lookahead_cli.models.cache.tempfile.mkdtemp", forbid
    )  # as root, permission bits forbid nothing
    with pytest.raises(ResourceError, match="not writable; set LOOKAHEAD_CACHE"):
        locate(str(gguf_file))


def test_out_of_memory_while_converting_is_told(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", fail)
    with pytest.raises(ResourceError, match="not enough memory"):
        locate(str(gguf_file))


def test_interrupt_leaves_nothing(gguf_file: Path, cache: Path) -> None:
    def interrupt(activity: str, fraction: float | None = None) -> None:
        if activity.startswith("storing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted_folder(gguf_file, interrupt)
    assert entries(cache) == []


def run_locate(gguf: Path) -> subprocess.Popen[str]:
    """A process of its own that locates `gguf` and prints its progress and the folder."""
    code = (
        "import sys; from lookahead_cli.models.sources import locate\n"
        "print(locate(sys.argv[1], progress=lambda activity, fraction=None: print(activity)))"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(gguf)], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_share_one_conversion(gguf_file: Path, cache: Path) -> None:
    processes = [run_locate(gguf_file) for _ in range(2)]
    told = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert told[0][-1] == told[1][-1]
    assert sum("storing tiny.gguf for later starts" in lines for lines in told) == 1
    assert len(entries(cache)) == 1
