"""What is removed is what was named, all of it, and never anything of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.knowledge.folder import LOCK, knowledge_folder
from lookahead_cli.models.cache import is_finished, lock_file
from lookahead_cli.models.entry import folder_bytes
from lookahead_cli.models.packaged import SMOLLM2_135M, packaged_entry
from lookahead_cli.models.removal import plan_removal
from lookahead_cli.models.sources import locate
from tests.models.made_hub_cache import COMMIT, LLAMA, put, use_cache, whole_model
from tests.models.test_listing import make_entry
from tests.tiny_models import write_tiny_gguf


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_cache(tmp_path / "hub", monkeypatch)


pytestmark = pytest.mark.usefixtures("hub_cache")


def learn(folder: Path) -> Path:
    """Something is known about the model in `folder`."""
    knowledge = knowledge_folder(folder)
    knowledge.mkdir(parents=True)
    (knowledge / "rates.json").write_bytes(b"x" * 100)
    return knowledge


def test_the_packaged_model_goes_with_what_is_known_about_it(cache: Path) -> None:
    entry = packaged_entry(SMOLLM2_135M)
    for folder in (entry, entry.with_name(f"{SMOLLM2_135M.name}-b179c952-v0")):
        make_entry(folder)
    knowledge = learn(entry)
    size = folder_bytes(cache)
    removal = plan_removal("smollm2-135m")
    assert removal.size == size
    assert removal.run() == size
    assert not knowledge.exists()
    assert folder_bytes(cache) == 0
    with pytest.raises(ModelError, match="nothing of smollm2-135m is in the cache folder"):
        plan_removal("smollm2-135m")


def test_a_converted_file_goes_and_the_file_itself_stays(gguf_file: Path, tmp_path: Path) -> None:
    folder = locate(str(gguf_file))
    other = locate(str(write_tiny_gguf(tmp_path / "other.gguf", seed=1)))
    knowledge = learn(folder)
    removal = plan_removal(str(gguf_file))
    assert removal.name == f"the converted copy of {gguf_file}"
    assert removal.run() == removal.size > 0
    assert not folder.exists()
    assert not knowledge.exists()
    assert gguf_file.is_file()
    assert is_finished(other)


@pytest.mark.parametrize("named", ["relative path", "another copy", "file gone", "folder"])
def test_a_converted_file_is_found_by_all_its_names(
    gguf_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    folder = locate(str(gguf_file))
    monkeypatch.chdir(tmp_path)
    source = gguf_file.name
    if named == "another copy":
        source = "copy.gguf"
        Path(source).write_bytes(gguf_file.read_bytes())
    if named == "file gone":
        source = str(gguf_file)
        gguf_file.unlink()
    if named == "folder":
        source = str(folder)
    plan_removal(source).run()
    assert not folder.exists()


def test_what_is_being_prepared_is_left_alone() -> None:
    entry = packaged_entry(SMOLLM2_135M)
    make_entry(entry)
    removal = plan_removal("smollm2-135m")
    with FileLock(lock_file(entry)), pytest.raises(ResourceError, match="being prepared or downloaded just now"):
        removal.run()
    assert is_finished(entry)
    knowledge = learn(entry)
    removal = plan_removal("smollm2-135m")
    with FileLock(knowledge / LOCK), pytest.raises(ResourceError, match="rehearsing in the background"):
        removal.run()
    assert is_finished(entry)
    removal.run()
    assert not entry.exists()


def test_folders_of_the_users_own_are_never_deleted(tmp_path: Path, hub_cache: Path) -> None:
    folder = tmp_path / "mine"
    make_entry(folder)
    with pytest.raises(ModelError, match="a folder of your own"):
        plan_removal(str(folder))
    with pytest.raises(ModelError, match="name it by its hub id"):
        plan_removal(str(put(hub_cache, "owner/llama", whole_model(LLAMA))))


def test_a_gguf_file_that_was_never_converted_is_no_ground_to_delete_anything(gguf_file: Path) -> None:
    with pytest.raises(ModelError, match=r"nothing of .*tiny.gguf is in the cache"):
        plan_removal(str(gguf_file))
    assert gguf_file.is_file()


def test_a_hub_model_goes_whole_and_its_neighbours_stay(hub_cache: Path) -> None:
    folder = put(hub_cache, "owner/llama", whole_model(LLAMA))
    others = [put(hub_cache, f"owner/copy-{number}", whole_model(LLAMA)) for number in range(5)]  # with its commit
    knowledge = learn(folder)
    (folder.parent.parent / "blobs" / "abc.incomplete").write_bytes(b"x" * 1000)
    removal = plan_removal("owner/llama")
    assert removal.run() == removal.size > 1100
    assert not (hub_cache / "models--owner--llama").exists()
    assert not knowledge.exists()
    assert all((other / "model.safetensors").is_file() for other in others)
    with pytest.raises(ModelError, match="nothing of owner/llama is in the hub's cache"):
        plan_removal("owner/llama")


@pytest.mark.parametrize("wanted", ["v1", "a" * 7, "a" * 40])
def test_one_revision_goes_and_what_it_shares_with_others_stays(hub_cache: Path, wanted: str) -> None:
    gone = put(hub_cache, "owner/llama", whole_model(LLAMA, extra=b"x" * 1000), ref="v1", commit="a" * 40)
    kept = put(hub_cache, "owner/llama", whole_model(LLAMA))
    removal = plan_removal("owner/llama", wanted)
    assert removal.size == 1000
    assert removal.run() == 1040, "and the name of the branch"
    assert not gone.exists()
    assert (kept / "model.safetensors").is_file()


def test_a_link_in_the_hubs_cache_is_not_followed(hub_cache: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "blobs").mkdir(parents=True)
    (elsewhere / "blobs" / "precious").write_bytes(b"x")
    hub_cache.mkdir()
    (hub_cache / "models--owner--linked").symlink_to(elsewhere)
    with pytest.raises(ResourceError, match="owner/linked could not be removed"):
        plan_removal("owner/linked").run()
    assert (elsewhere / "blobs" / "precious").is_file()


def test_an_unknown_revision_is_told_with_those_that_are_there(hub_cache: Path) -> None:
    put(hub_cache, "owner/llama", whole_model(LLAMA))
    with pytest.raises(ModelError, match="owner/llama has no revision v9 in the hub's cache; there is main"):
        plan_removal("owner/llama", "v9")
    with pytest.raises(ModelError, match="no revision"):
        plan_removal("owner/llama", COMMIT[:6])


def test_a_download_that_has_hardly_begun_can_be_removed(hub_cache: Path) -> None:
    folder = hub_cache / "models--owner--begun"
    for part in ("refs", "blobs"):
        (folder / part).mkdir(parents=True)
    (folder / "refs" / "main").write_text("c" * 40)
    (folder / "blobs" / "abc.incomplete").write_bytes(b"x" * 1000)
    assert plan_removal("owner/begun").run() == 1040
    assert not folder.exists()


def test_a_hub_model_that_is_being_downloaded_is_left_alone(hub_cache: Path) -> None:
    folder = put(hub_cache, "owner/llama", whole_model(LLAMA))
    locks = hub_cache / ".locks" / "models--owner--llama"
    locks.mkdir(parents=True)
    with FileLock(locks / "abc.lock"), pytest.raises(ResourceError, match="being prepared or downloaded"):
        plan_removal("owner/llama").run()
    assert folder.exists()


def test_a_revision_goes_with_hub_ids_only() -> None:
    make_entry(packaged_entry(SMOLLM2_135M))
    with pytest.raises(ModelError, match="--revision goes with a hub id"):
        plan_removal("smollm2-135m", "v1")


def test_unknown_names_are_told_as_everywhere() -> None:
    with pytest.raises(ModelError, match=r"did you mean smollm2-135m\?"):
        plan_removal("smollm")
    with pytest.raises(ModelError, match="no such file or folder"):
        plan_removal("./missing.gguf")
