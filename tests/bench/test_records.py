"""The file of a contest: whatever ended the program, going on gives a whole file."""

from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.bench.contest import Run
from lookahead_cli.bench.entries import read_entries
from lookahead_cli.bench.flat_rows import write_csv
from lookahead_cli.bench.outputs import Outputs
from lookahead_cli.bench.prompts import BenchPrompt
from lookahead_cli.bench.records import Records, header_of, machine_of, read_runs
from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.profile import Settings
from tests.bench.made_runs import made_run

PROMPTS = [BenchPrompt("one", "a"), BenchPrompt("zwei ü", "b")]
NAMES = ["greedy", "jacobi:k=4"]
RUNS = [[made_run(name, prompt, round=round, drafted=3) for name in NAMES] for round in (0, 1) for prompt in (0, 1)]


def header(names: list[str] = NAMES, prompts: list[BenchPrompt] = PROMPTS, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"rounds": 2, "fresh": False, **more}
    return header_of(asked.pop("settings", Settings()), read_entries(names, Settings()), prompts, **asked)


def saved(path: Path, groups: list[list[Run]]) -> bytes:
    records = Records.begin(path, header())
    for group in groups:
        records.add(group)
    records.close()
    return path.read_bytes()


def test_runs_come_back_as_they_were(tmp_path: Path) -> None:
    content = saved(tmp_path / "a.jsonl", RUNS)
    lines = [json.loads(line) for line in content.splitlines()]
    assert lines[0]["contestants"] == NAMES
    assert len(lines) == 1 + 8
    assert lines[1]["statistics"]["tokens"] == len(lines[1]["token_ids"]) == 8
    runs, length = read_runs(content, header())
    assert runs == [run for group in RUNS for run in group]
    assert length == len(content)


@given(st.data())
def test_wherever_the_file_was_torn_whole_groups_are_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    path = folder / "a.jsonl"
    content = saved(path, RUNS)
    head = content.index(b"\n") + 1
    path.write_bytes(content[: data.draw(st.integers(head, len(content)))])
    records, runs = Records.resume(path, header())
    assert len(runs) % 2 == 0
    kept = len(runs) // 2
    assert runs == [run for group in RUNS[:kept] for run in group]
    for group in RUNS[kept:]:
        records.add(group)
    records.close()
    assert path.read_bytes() == content


def test_garbage_at_the_end_is_dropped_and_elsewhere_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    content = saved(path, RUNS)
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:7], b"\0\0\0\n", b"\0\n"]))
    records, runs = Records.resume(path, header())
    records.close()
    assert len(runs) == 6
    for wrong in (
        [*lines[:3], b"{}\n", *lines[4:]],
        [*lines[:3], *lines[1:]],
        [lines[0], lines[2], lines[1], *lines[3:]],
    ):
        path.write_bytes(b"".join(wrong))
        with pytest.raises(ProfileError, match=r"option --resume: .*a\.jsonl is damaged in lines \d to \d"):
            Records.resume(path, header())
        assert path.read_bytes() == b"".join(wrong), "what cannot be used is left as it was"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (header(rounds=3), "measured with rounds = 2, and now it is 3"),
        (header(fresh=True), "fresh = false, and now it is true"),
        (header(["greedy"]), 'contestants = \\["greedy", "jacobi:k=4"\\], and now it is \\["greedy"\\]'),
        (header(prompts=[BenchPrompt("one", "a"), BenchPrompt("two", "b")]), "measured with other prompts"),
        (header(prompts=PROMPTS[:1]), "prompts.number = 2, and now it is 1"),
        (header(settings=Settings.model_validate({"decoding": {"seed": 3}})), "settings.decoding.seed = 0.* is 3"),
    ],
)  # fmt: skip
def test_another_contest_is_refused_with_the_difference(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    saved(tmp_path / "a.jsonl", RUNS[:1])
    with pytest.raises(ProfileError, match=said):
        Records.resume(tmp_path / "a.jsonl", other)


def test_runs_of_another_machine_are_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    machine = machine_of(Settings.model_validate({"model": {"threads": 4, "device": "cpu"}}))
    records = Records.begin(path, {**header(), "machine": machine})
    records.add(RUNS[0])
    records.close()
    before = path.read_bytes()
    Records.check(path, header())  # before the model is loaded, the machine is not known
    with pytest.raises(ProfileError, match=r"measured with machine.threads = 4, and now it is 2"):
        Records.resume(path, {**header(), "machine": {**machine, "threads": 2}})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"hello\n", b"[]\n", b'{"version": 1}\n', b"[" * 100_000 + b"\n"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ProfileError, match="does not begin like the file of a contest"):
        Records.resume(tmp_path / "a.jsonl", header())
    assert (tmp_path / "a.jsonl").read_bytes() == content


def test_how_colours_are_set_makes_no_other_contest() -> None:
    assert header(settings=Settings.model_validate({"display": {"color": "never"}})) == header()


def test_a_file_begun_for_nothing_does_not_stay(tmp_path: Path) -> None:
    saved(tmp_path / "a.jsonl", RUNS[:1])
    assert (tmp_path / "a.jsonl").exists()
    Records.begin(tmp_path / "b.jsonl", header()).close()
    assert not (tmp_path / "b.jsonl").exists()


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        records = Records(tmp_path / "a.jsonl", full, is_new=False)
        with pytest.raises(ResourceError, match=r"a\.jsonl could not be written: No space left"):
            records.add(RUNS[0])


def test_a_header_that_finds_no_room_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    room = [10]

    def full(file: int, content: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(ResourceError, match="No space left"):
            Records.begin(tmp_path / "a.jsonl", header())
    assert not (tmp_path / "a.jsonl").exists()


def test_rows_for_a_spreadsheet(tmp_path: Path) -> None:
    runs = [made_run("greedy", seconds=2.0), made_run("lookahead:k=4,init=model", steps=2, seconds=1.0, drafted=8)]
    write_csv(tmp_path / "a.csv", runs, {"greedy": "greedy", "lookahead:k=4,init=model": "greedy"})
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        plain, fast = csv.DictReader(file)
    assert (plain["strategy"], plain["speed"], plain["acceptance_rate"]) == ("greedy", "1.0", "")
    assert (fast["strategy"], fast["speed"], fast["tokens_per_step"]) == ("lookahead:k=4,init=model", "2.0", "4.0")
    assert (fast["drafted"], fast["accepted"], fast["differs_at"]) == ("8", "6", "")


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (Outputs(resume=True), "nothing to resume from; name the file with --output"),
        (Outputs(records=Path("missing/a.jsonl")), "option --output: missing/a.jsonl cannot be written: No such file"),
        (Outputs(csv=Path()), "option --csv: . is not a file"),
        (Outputs(csv=Path("/dev/null")), "option --csv: /dev/null is not a file"),
        (Outputs(records=Path("there")), "option --output: there is there already; .*--resume"),
        (Outputs(csv=Path("there")), "option --csv: there is there already"),
        (Outputs(plot=Path("a.pdf")), r"option --plot: a.pdf must end in .svg or .png"),
        (Outputs(plot=Path("missing/a.png")), "option --plot: missing/a.png cannot be written"),
        (Outputs(records=Path("a"), csv=Path("a")), "options --output and --csv: each needs a file of its own"),
        (Outputs(records=Path("n" * 300)), "cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_written_is_said_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: Outputs, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    with pytest.raises(ProfileError, match=said):
        outputs.check()
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
