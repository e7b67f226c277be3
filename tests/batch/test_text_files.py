"""A text file for each result: never outside the folder, never one for two."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookahead_cli.batch.text_files import HASHED, RESERVED, TextFiles, safe_name
from lookahead_cli.errors import ProfileError, ResourceError

AWKWARD = st.sampled_from("aAbé./\\:.. -_\0\n\u0301\u202e\ud800ſßCONcon1")
IDS = st.text(st.characters()) | st.text(AWKWARD, max_size=8) | st.text("ab", min_size=98, max_size=103)


@given(IDS)
@example("..")
@example("../../etc/passwd")
@example("/")
@example("")
@example("CON")
@example("nul.tar")
@example("com¹")
@example("a" * 5000)
@example("é" * 51)
def test_a_name_is_one_that_every_file_system_takes(id: str) -> None:
    for ignores_case in (True, False):
        name = safe_name(id, ignores_case=ignores_case)
        assert not set(name) & set('<>:"/\\|?*')
        assert all(character.isprintable() for character in name)
        assert not name.startswith(".")
        assert not name.endswith((".", " "))
        assert not RESERVED.match(name)
        assert 0 < len(HASHED.sub("", name).encode()) <= 101
        assert os.path.realpath(f"/folder/{name}.txt") == f"/folder/{name}.txt"


@given(st.lists(IDS, unique=True, max_size=6))
@example(["A", "a"])
@example(["\u00e9", "e\u0301"])
@example(["a/b", "a_b", safe_name("a/b")])
@example(["a" * 100, "a" * 101, "a" * 102])
def test_different_ids_never_share_a_file(ids: list[str]) -> None:
    assert len({safe_name(id) for id in ids}) == len(ids)
    assert len({safe_name(id, ignores_case=True).casefold() for id in ids}) == len(ids)


def test_an_id_that_is_a_good_name_stays_as_it_is() -> None:
    for id in ("a", "prompt-17", "Grüße aus Köln (2)", "naïve.v2", "日本語"):
        assert safe_name(id) == id
    assert safe_name("Readme") == "Readme"
    assert safe_name("Readme", ignores_case=True).startswith("Readme-")


def test_a_file_holds_exactly_the_text(tmp_path: Path) -> None:
    texts = TextFiles(tmp_path / "deep" / "folder")
    for id, text in (("one", "Grüße\r\n\n"), ("two", ""), ("three", "no newline")):
        assert not texts.has(id)
        texts.write(id, text)
        assert texts.has(id)
        assert (texts.folder / f"{id}.txt").read_bytes() == text.encode()
    assert len(list(texts.folder.iterdir())) == 3


def test_links_in_the_folder_are_written_over_and_not_through(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    texts = TextFiles(tmp_path / "out")
    (texts.folder / "a.txt").symlink_to(secret)
    (texts.folder / f".a.txt.{os.getpid()}").symlink_to(secret)
    assert not texts.has("a")
    texts.write("a", "text")
    assert secret.read_text() == "mine"
    assert not (texts.folder / "a.txt").is_symlink()
    assert (texts.folder / "a.txt").read_text() == "text"


def test_what_a_killed_process_of_the_same_number_left_is_no_obstacle(tmp_path: Path) -> None:
    texts = TextFiles(tmp_path)
    (tmp_path / f".a.txt.{os.getpid()}").write_text("half of")
    texts.write("a", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "under"):
        with pytest.raises(ProfileError, match=r"option --out-dir: .* cannot be written: .*; name a folder"):
            TextFiles(folder)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ProfileError, match=r"option --out-dir: .* cannot be written: Permission denied"):
        TextFiles(tmp_path)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TextFiles(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ResourceError, match=r"a\.txt could not be written: No space left"):
        texts.write("a", "text")
    assert list(tmp_path.iterdir()) == []
