"""What the arguments of `batch` name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from lookahead_cli.batch.form import Form
from lookahead_cli.batch.sources import find_sources
from lookahead_cli.errors import PromptError


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with some files, which is the working folder."""
    for name in ("b.jsonl", "a.txt", "in/c.csv", "in/deep/d.md", "in/.hidden.txt", "in/.git/e.txt", "in/f.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


def named(*arguments: str, form: Form | None = None) -> list[str]:
    return [source.name for source in find_sources(arguments, form or Form())]


def complaint(*arguments: str) -> str:
    with pytest.raises(PromptError) as caught:
        named(*arguments)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_files_come_in_the_order_they_are_given_in() -> None:
    assert named("b.jsonl", "a.txt", "-", "in/f.py") == ["b.jsonl", "a.txt", "stdin", "in/f.py"]


def test_a_folder_stands_for_the_files_of_known_kinds_in_it_at_any_depth_but_not_hidden_ones() -> None:
    assert named("in") == ["in/c.csv", "in/deep/d.md"]
    assert named(".") == ["a.txt", "b.jsonl", "in/c.csv", "in/deep/d.md"]


def test_of_a_folder_only_files_of_the_format_asked_for_are_taken() -> None:
    assert named(".", form=Form(format="text")) == ["a.txt", "in/deep/d.md"]
    assert named(".", form=Form(one_per_file=True)) == ["a.txt", "in/deep/d.md"]
    with pytest.raises(PromptError, match=r"in: no file in this folder ends in \.jsonl, \.ndjson; "):
        named("in", form=Form(format="jsonl"))


def test_a_pattern_that_no_shell_has_expanded_is_expanded_in_the_order_of_names() -> None:
    assert named("**/*.txt") == ["a.txt"]
    assert named("*.[jt]*") == ["a.txt", "b.jsonl"]
    assert named("**/?.*") == ["a.txt", "b.jsonl", "in/c.csv", "in/deep/d.md", "in/f.py"]
    assert named(str(Path.cwd() / "*.txt")) == [(Path.cwd() / "a.txt").as_posix()]


def test_a_name_that_exists_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "[a].txt").write_text("x")
    (tmp_path / "-").write_text("x")
    assert named("[a].txt") == ["[a].txt"]
    assert named("./-") == ["-"]


def test_a_file_is_read_once_however_often_and_by_whatever_name_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("a.txt")
    assert named("a.txt", "./a.txt", "in/../a.txt", "link.txt", str(tmp_path / "a.txt"), "*.txt") == ["a.txt"]
    assert named("-", "-") == ["stdin"]


def test_no_two_sources_have_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "stdin").write_text("x")
    (tmp_path / "stdin#2").write_text("x")
    assert named("-", "stdin", "stdin#2") == ["stdin", "stdin#2", "stdin#2#2"]


def test_names_are_tidied_up() -> None:
    assert named(".//in/../a.txt") == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such names")
def test_a_name_that_is_not_utf_8_can_be_read_and_written_down() -> None:
    name = os.fsdecode(b"\xff.txt")
    try:
        Path(name).write_text("x")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert named(name) == ["?.txt"]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("missing.txt", "missing.txt: no such file or folder"),
        ("a.txt/b", "a.txt/b: no such file or folder"),
        ("", "the name of an input file is empty"),
        ("*.parquet", 'no file matches "*.parquet"'),
        ("in/*/", 'no file matches "in/*/"'),
        ("empty", "empty: no file in this folder ends in .jsonl, .ndjson, .txt, .md, .csv, .tsv"),
        ("a" * 300, "cannot be read: File name too long"),
        ("a\0b", "no such file"),
        ("/dev/null", "/dev/null is a device"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(argument: str, said: str) -> None:
    assert said in complaint("b.jsonl", argument)
    assert "\n" not in complaint(argument)


def test_a_broken_link_and_a_socket_are_refused(tmp_path: Path) -> None:
    (tmp_path / "dangling.txt").symlink_to("nowhere")
    assert "dangling.txt: no such file" in complaint("dangling.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        assert "s is a device or a socket" in complaint("s")


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # whoever runs the tests may be allowed everything
    assert complaint("a.txt") == "a.txt cannot be read: Permission denied"


def test_a_named_pipe_is_fine_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (source,) = find_sources(["pipe"], Form())
    assert (source.name, source.size) == ("pipe", None)
