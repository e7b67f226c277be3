"""What is on the machine is found, whatever state it is in."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.knowledge.obstacles import Obstacles, keep_obstacles
from lookahead_cli.models.cache import lock_file
from lookahead_cli.models.entry import Entry
from lookahead_cli.models.gguf import ORIGIN
from lookahead_cli.models.listing import listed_models
from lookahead_cli.models.loading import Wish
from lookahead_cli.models.packaged import SMOLLM2_135M, packaged_entry
from lookahead_cli.models.sources import locate
from tests.models.made_hub_cache import BERT, GPT2, LLAMA, MAMBA, put, use_cache, whole_model
from tests.tiny_models import write_tiny_gguf


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_cache(tmp_path / "hub", monkeypatch)


def listed(**wishes: object) -> dict[str, Entry]:
    """By name, the packaged model left out."""
    entries = listed_models(Wish(**wishes))  # type: ignore[arg-type]
    assert entries[0].name == "smollm2-135m"
    return {entry.name: entry for entry in entries[1:]}


pytestmark = pytest.mark.usefixtures("hub_cache")


def packaged() -> Entry:
    return listed_models(Wish())[0]


def make_entry(folder: Path) -> None:
    """A finished entry of our cache."""
    folder.mkdir(parents=True)
    for name, content in whole_model(LLAMA).items():
        (folder / name).write_bytes(content)
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    (folder / "contents.json").write_text(json.dumps(sizes))


def test_the_packaged_model_is_listed_before_it_is_fetched() -> None:
    assert packaged() == Entry("packaged", "smollm2-135m", "not fetched")
    assert listed() == {}


def test_a_fetched_model_is_ready_with_what_it_is() -> None:
    folder = packaged_entry(SMOLLM2_135M)
    make_entry(folder)
    entry = packaged()
    assert (entry.state, entry.folder, entry.last_used) == ("ready", folder, None)
    assert entry.size == sum(file.stat().st_size for file in folder.iterdir())
    assert entry.facts is not None
    assert (entry.facts.architecture, entry.facts.parameters) == ("LlamaForCausalLM", 84)
    assert entry.facts.dtypes == ("float16", "float32"), "the most common one first"
    assert entry.plan is not None
    assert (entry.plan.runner, entry.plan.strategies) == ("lean", "all")


def test_last_used_is_when_something_was_last_learned() -> None:
    folder = packaged_entry(SMOLLM2_135M)
    make_entry(folder)
    knowledge = knowledge_folder(folder)
    knowledge.mkdir(parents=True)
    for name, seconds in (("old.json", 1000), ("new.json", 2000)):
        (knowledge / name).touch()
        os.utime(knowledge / name, (seconds, seconds))
    assert packaged().last_used == 2000


def test_an_entry_that_lost_a_file_is_broken() -> None:
    make_entry(packaged_entry(SMOLLM2_135M))
    (packaged_entry(SMOLLM2_135M) / "tokenizer.json").unlink()
    assert packaged().state == "broken"


def test_damaged_weights_are_told_as_such() -> None:
    folder = packaged_entry(SMOLLM2_135M)
    make_entry(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(b"\xff" * weights.stat().st_size)
    assert (packaged().state, "damaged or cut short" in packaged().why) == ("broken", True)


def test_what_a_killed_preparation_left_is_incomplete_and_one_that_goes_on_is_told_as_such() -> None:
    entry = packaged_entry(SMOLLM2_135M)
    staging = entry.parent / f".staging-{entry.name}-abc_1-2"
    staging.mkdir(parents=True)
    (staging / "half").write_bytes(b"12345")
    assert (packaged().state, packaged().size) == ("incomplete", 5)
    with FileLock(lock_file(entry)):
        assert packaged().state == "in preparation"


def test_what_another_version_made_is_outdated() -> None:
    entry = packaged_entry(SMOLLM2_135M)
    make_entry(entry.with_name("smollm2-135m-b179c952-v0"))
    make_entry(entry.with_name("gguf-0123456789abcdef-v0"))
    states = [(entry.kind, entry.state) for entry in listed_models(Wish())]
    assert states == [("packaged", "not fetched"), ("packaged", "outdated"), ("gguf", "outdated")]


def test_a_converted_file_is_known_by_its_name_if_either_record_of_it_is_left(cache: Path, gguf_file: Path) -> None:
    folder = locate(str(gguf_file))
    index = cache / "gguf-checksums.json"
    remembered = index.read_text()
    index.unlink()
    assert listed()[str(gguf_file)].state == "ready"
    index.write_text(remembered)
    (folder / ORIGIN).unlink()  # as it was before that file was written
    contents = json.loads((folder / "contents.json").read_text())
    (folder / "contents.json").write_text(json.dumps({name: contents[name] for name in contents if name != ORIGIN}))
    entry = listed()[str(gguf_file)]
    assert (entry.kind, entry.state, entry.folder) == ("gguf", "ready", folder)
    gguf_file.unlink()
    assert listed()[str(gguf_file)].state == "file gone"
    assert str(folder) in listed()[str(gguf_file)].why


def test_a_file_with_another_content_is_not_the_one_that_was_converted(gguf_file: Path) -> None:
    locate(str(gguf_file))
    write_tiny_gguf(gguf_file, seed=1)
    assert listed()[str(gguf_file)].state == "file gone"


def test_a_converted_file_that_moved_goes_by_its_new_name(gguf_file: Path, tmp_path: Path) -> None:
    locate(str(gguf_file))
    moved = shutil.move(gguf_file, tmp_path / "moved.gguf")
    locate(str(moved))
    assert list(listed()) == [str(moved)]


def test_models_of_the_hub_are_listed_with_the_runner_and_the_reason(hub_cache: Path) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    put(hub_cache, "owner/gpt", whole_model(GPT2))
    put(hub_cache, "owner/state", whole_model(MAMBA))
    found = listed()
    assert [entry.state for entry in found.values()] == ["ready"] * 3
    plans = {name: entry.plan for name, entry in found.items()}
    lean, gpt, state = plans["owner/llama"], plans["owner/gpt"], plans["owner/state"]
    assert lean is not None
    assert gpt is not None
    assert state is not None
    assert (lean.runner, lean.strategies) == ("lean", "all")
    assert (gpt.runner, gpt.strategies) == ("transformers", "not tried")
    assert "and this one is gpt2" in gpt.why_not_lean
    assert (state.strategies, "running state" in state.why) == ("greedy only", True)
    wished = listed(runner="transformers")["owner/llama"].plan
    assert wished is not None
    assert (wished.runner, wished.why_not_lean) == ("transformers", 'runner is set to "transformers"')


@pytest.mark.parametrize(
    ("obstacles", "strategies"),
    [
        (Obstacles(None, None), "all"),
        (Obstacles(None, "no mask"), "chains only"),
        (Obstacles("a state", "a state"), "greedy only"),
    ],
)
def test_what_a_run_has_found_out_is_known(hub_cache: Path, obstacles: Obstacles, strategies: str) -> None:
    folder = put(hub_cache, "owner/gpt", whole_model(GPT2))
    keep_obstacles(knowledge_folder(folder), obstacles)
    found = listed()["owner/gpt"].plan
    assert found is not None
    assert found.strategies == strategies


def test_revisions_are_told_apart(hub_cache: Path) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA, **{"chat_template.jinja": b"x"}), ref="v1", commit="a" * 40)
    put(hub_cache, "owner/llama", whole_model(LLAMA, **{"chat_template.jinja": b"y"}), ref="", commit="b" * 40)
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    entries = [entry for entry in listed_models(Wish()) if entry.kind == "hub"]
    assert sorted(entry.revision for entry in entries) == ["", "b" * 40, "v1"]
    assert entries[0].revision == "", "the main branch first"


def test_downloads_that_were_cut_off_are_incomplete(hub_cache: Path) -> None:
    files = whole_model(LLAMA)
    del files["model.safetensors"]
    snapshot = put(hub_cache, "owner/half", files)
    blobs = snapshot.parent.parent / "blobs"
    (blobs / "abc.incomplete").write_bytes(b"x" * 1000)
    begun = hub_cache / "models--owner--begun"
    (begun / "refs").mkdir(parents=True)
    (begun / "refs" / "main").write_text("c" * 40)
    found = listed()
    assert found["owner/half"].state == found["owner/begun"].state == "incomplete"
    assert "model.safetensors" in found["owner/half"].why
    assert found["owner/half"].size == 1000 + sum(map(len, files.values()))
    assert found["owner/half"].language_model, "it is not hidden only because it is not whole"


def test_a_damaged_cache_entry_is_shown_and_the_others_too(hub_cache: Path) -> None:
    broken = put(hub_cache, "owner/broken", whole_model(LLAMA))
    (broken / "config.json").resolve().unlink()
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    (hub_cache / "models--stray").write_text("a file")
    damaged = put(hub_cache, "owner/nonsense", {**whole_model(LLAMA), "config.json": b"["})
    found = listed()
    assert {name: entry.state for name, entry in found.items()} == {
        "owner/broken": "broken", "owner/llama": "ready", "owner/nonsense": "incomplete", "stray": "incomplete",
    }  # fmt: skip
    assert "config.json is not valid JSON" in found["owner/nonsense"].why
    assert found["owner/nonsense"].folder == damaged


def test_a_file_that_keeps_the_hub_library_from_seeing_any_model_is_named(hub_cache: Path) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    put(hub_cache, "owner/other", whole_model(LLAMA))
    reference = hub_cache / "models--owner--other" / "refs" / "main"
    reference.write_bytes(b"\xff\xfe")
    why = listed()["owner/llama"].why
    assert str(reference) in why
    assert "remove that file" in why


def test_what_is_no_language_model_is_marked(hub_cache: Path) -> None:
    put(hub_cache, "owner/bert", whole_model(BERT))
    put(hub_cache, "owner/pictures", {"model_index.json": b"{}"})
    put(hub_cache, "owner/t5", whole_model({**LLAMA, "is_encoder_decoder": True}))
    put(hub_cache, "owner/sees", whole_model({**LLAMA, "architectures": ["Gemma3ForConditionalGeneration"]}))
    assert {name: entry.language_model for name, entry in listed().items()} == {
        "owner/bert": False, "owner/pictures": False, "owner/sees": True, "owner/t5": False,
    }  # fmt: skip


def test_pickle_weights_are_refused_unless_allowed(hub_cache: Path) -> None:
    files = whole_model(LLAMA, **{"pytorch_model.bin": b"x"})
    del files["model.safetensors"]
    put(hub_cache, "owner/pickled", files)
    assert listed()["owner/pickled"].state == "refused"
    assert listed(allow=frozenset({"pickle"}))["owner/pickled"].state == "ready"


def test_gguf_files_of_the_hub_are_listed_by_path_until_they_are_converted(hub_cache: Path, gguf_file: Path) -> None:
    snapshot = put(hub_cache, "owner/ggufs", {"tiny.gguf": gguf_file.read_bytes(), "cut.gguf": b"GGUF"})
    found = listed()
    path = str(snapshot / "tiny.gguf")
    assert (found[path].kind, found[path].state) == ("gguf", "not converted")
    plan = found[path].plan
    assert plan is not None
    assert plan.runner == "lean"
    assert found[str(snapshot / "cut.gguf")].state == "broken"
    locate(path)
    assert [(entry.name, entry.state) for entry in listed_models(Wish()) if entry.name == path] == [(path, "ready")]


def test_no_cache_at_all_is_no_error(hub_cache: Path) -> None:
    assert not hub_cache.exists()
    assert listed() == {}
    hub_cache.write_text("a file where the folder should be")
    assert listed() == {}
