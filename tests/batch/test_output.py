"""Whatever ends a run, going on gives the file that an undisturbed run gives."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.batch import held
from lookahead_cli.batch.output import Output, OutputWanted, open_output, stored_settings
from lookahead_cli.batch.result_lines import LineForm, line_of
from lookahead_cli.batch.results import Outcome
from lookahead_cli.errors import ProfileError, ResourceError
from tests.batch.made_outcomes import SETTINGS, made_failure, made_result, read_all, run
from tests.batch.states import Files, files_in, put, states_while

FAILED = 2, 4
OUTCOMES: list[Outcome] = [
    made_failure(number) if number in FAILED else made_result(number, text="ü" * number) for number in range(6)
]
RETRIED: list[Outcome] = [made_result(number, text="ü" * number) for number in range(6)]
REVERSED = range(5, -1, -1)

orders = st.permutations(range(6))


def lines_of(outcomes: Sequence[Outcome]) -> bytes:
    return b"".join(line_of(outcome, LineForm()) for outcome in outcomes)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("output")


@given(orders)
def test_in_whatever_order_they_finish_the_file_has_that_of_the_input(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    file = tmp_path_factory.mktemp("order") / "out.jsonl"
    run(OutputWanted(file), OUTCOMES, order)
    assert file.read_bytes() == lines_of(OUTCOMES)
    assert sorted(path.name for path in file.with_name("out.jsonl.run").iterdir()) == ["lock", "settings.json"]


@given(orders)
def test_unordered_they_are_written_as_they_finish(tmp_path_factory: pytest.TempPathFactory, order: list[int]) -> None:
    file = tmp_path_factory.mktemp("unordered") / "out.jsonl"
    run(OutputWanted(file, ordered=False), OUTCOMES, order)
    assert file.read_bytes() == lines_of([OUTCOMES[number] for number in order])


def test_what_finishes_before_its_turn_is_on_disk_and_not_in_memory(file: Path) -> None:
    with open_output(OutputWanted(file), SETTINGS) as output:
        read_all(output, OUTCOMES)
        output.write(OUTCOMES[3])
        output.write(OUTCOMES[1])
        assert (file.read_bytes(), output.held) == (b"", 0)
        assert Path(f"{file}.run/held.jsonl").read_bytes() == lines_of([OUTCOMES[3], OUTCOMES[1]])
        output.write(OUTCOMES[0])
        assert file.read_bytes() == lines_of(OUTCOMES[:2])


def test_numbers_of_others_are_never_waited_for(file: Path) -> None:
    with open_output(OutputWanted(file), SETTINGS) as output:
        for number in (5, 1, 3):
            output.expect(number)
        for number in (1, 3, 5):
            output.write(RETRIED[number])
        output.finish()
    assert file.read_bytes() == lines_of([RETRIED[number] for number in (5, 1, 3)])


@given(st.data())
def test_killed_anywhere_and_torn_at_any_byte_it_goes_on_to_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("killed") / "out.jsonl"
    ordered = data.draw(st.booleans(), "ordered")
    wanted = OutputWanted(file, ordered=ordered, resume=True)
    for _ in range(data.draw(st.integers(1, 3), "kills")):
        run(wanted, OUTCOMES, data.draw(orders), writes=data.draw(st.integers(0, 6), "writes"))
        for torn in (file, Path(f"{file}.run/held.jsonl")):
            if torn.exists():
                tear(torn, data)
    run(wanted, OUTCOMES, data.draw(orders))
    lines = file.read_bytes()
    assert (lines if ordered else join_sorted(lines)) == lines_of(OUTCOMES)
    assert not Path(f"{file}.run/held.jsonl").exists()


def tear(file: Path, data: st.DataObject) -> None:
    """Take off as much as its whole last line."""
    content = file.read_bytes()
    file.write_bytes(content[: data.draw(st.integers(content.rfind(b"\n", 0, -1) + 1, len(content)), file.name)])


def join_sorted(lines: bytes) -> bytes:
    return b"".join(sorted(lines.splitlines(keepends=True), key=lambda line: bytes(line).split(b",")[0]))


def results_in(state: Files) -> set[bytes]:
    lines = [line for name in ("out.jsonl", "out.jsonl.run/held.jsonl") for line in state.get(name, b"").splitlines()]
    return {line for line in lines if b'"text"' in line}


def check_all_go_on(states: list[Files], place: Path, expected: bytes, **how: Any) -> None:
    for earlier, later in pairwise(states):
        assert results_in(earlier) <= results_in(later), "nothing that was finished is ever lost"
    for number, state in enumerate(states):
        file = place / str(number) / "out.jsonl"
        put(file.parent, state)
        run(OutputWanted(file, **how), RETRIED if how.get("retry_failed") else OUTCOMES, REVERSED)
        lines = file.read_bytes()
        assert (lines if how.get("ordered", True) else join_sorted(lines)) == expected, state


@pytest.mark.parametrize("most_dead", [0, 1 << 24])
def test_from_every_state_that_a_run_passes_through_it_can_go_on(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, most_dead: int
) -> None:
    monkeypatch.setattr(held, "MOST_DEAD_BYTES", most_dead)
    states = states_while(file.parent, lambda: run(OutputWanted(file), OUTCOMES, [1, 0, 5, 4, 3, 2]))
    assert len(states) > 15
    check_all_go_on(states, folder, lines_of(OUTCOMES), resume=True)


@pytest.mark.parametrize("first_order", [range(6), [3, 2, 0, 5, 4]])
@pytest.mark.parametrize("ordered", [True, False])
def test_from_every_state_of_trying_failures_again_it_can_go_on(
    file: Path, folder: Path, first_order: Sequence[int], ordered: bool
) -> None:
    run(OutputWanted(file, ordered=ordered), OUTCOMES, first_order)
    again = OutputWanted(file, ordered=ordered, retry_failed=True)
    states = states_while(file.parent, lambda: run(again, RETRIED, [4, 5, 2, 1]))
    assert join_sorted(file.read_bytes()) == lines_of(RETRIED)
    assert len(states) > 5
    check_all_go_on(states, folder, lines_of(RETRIED), retry_failed=True, ordered=ordered)
    for number, state in enumerate(states):  # failures that were not tried again yet are failures, or are tried now
        file = folder / f"once-{number}" / "out.jsonl"
        put(file.parent, state)
        run(OutputWanted(file, ordered=ordered, resume=True), RETRIED, REVERSED)
        lines = file.read_bytes()
        found = (lines if ordered else join_sorted(lines)).splitlines(keepends=True)
        assert len(found) == 6
        for number, line in enumerate(found):
            assert line in (lines_of([OUTCOMES[number]]), lines_of([RETRIED[number]]))


@given(orders, orders, st.integers(0, 6), st.booleans())
def test_failures_are_tried_again_in_their_turn(
    tmp_path_factory: pytest.TempPathFactory, first: list[int], second: list[int], writes: int, ordered: bool
) -> None:
    file = tmp_path_factory.mktemp("again") / "out.jsonl"
    run(OutputWanted(file, ordered=ordered), OUTCOMES, first, writes=writes)
    failed_of_first = set(first[:writes]) & set(FAILED)
    answered = run(OutputWanted(file, ordered=ordered, retry_failed=True), RETRIED, second)
    assert answered == 6 - writes + len(failed_of_first)
    lines = file.read_bytes()
    assert (lines if ordered else join_sorted(lines)) == lines_of(RETRIED)


def test_failures_are_known_unless_they_are_to_be_tried_again(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES)
    assert run(OutputWanted(file, resume=True), RETRIED) == 0
    assert file.read_bytes() == lines_of(OUTCOMES)
    assert run(OutputWanted(file, retry_failed=True), OUTCOMES) == 2
    assert file.read_bytes() == lines_of(OUTCOMES), "they have failed again"


def test_more_input_can_be_added_to_a_run_that_is_done(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES[:4])
    assert run(OutputWanted(file, resume=True), OUTCOMES, REVERSED) == 2
    assert file.read_bytes() == lines_of(OUTCOMES)


def test_going_on_with_less_input_loses_nothing(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES)
    run(OutputWanted(file, retry_failed=True), RETRIED[:3])
    assert file.read_bytes() == lines_of([*RETRIED[:4], RETRIED[5]])


def test_an_end_without_outcomes_for_all_is_an_error_and_loses_nothing(file: Path) -> None:
    with open_output(OutputWanted(file), SETTINGS) as output:
        read_all(output, OUTCOMES)
        output.write(OUTCOMES[1])
        with pytest.raises(ValueError, match="6 records are without an outcome"):
            output.finish()
    run(OutputWanted(file, resume=True), OUTCOMES)
    assert file.read_bytes() == lines_of(OUTCOMES)


def test_what_is_held_does_not_grow_with_all_that_ever_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST_DEAD_BYTES", 1000)
    most = 0
    with open_output(OutputWanted(file), SETTINGS) as output:
        for number in range(0, 200, 2):
            for outcome in (made_result(number), made_result(number + 1)):
                output.expect(outcome.number)
            for outcome in (made_result(number + 1), made_result(number)):
                output.write(outcome)
                most = max(most, Path(f"{file}.run/held.jsonl").stat().st_size)
        output.finish()
    assert 1000 < most < 2000
    assert file.read_bytes() == lines_of([made_result(number) for number in range(200)])


def test_nothing_is_thrown_away_before_the_results_are_on_the_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bytes, int]] = []

    def sync(descriptor: int) -> None:
        if os.path.sameopenfile(descriptor, results.fileno()):
            synced.append((file.read_bytes(), Path(f"{file}.run/held.jsonl").stat().st_size))

    with monkeypatch.context() as patch:
        run(OutputWanted(file), OUTCOMES, [1], writes=1)
        with file.open("rb") as results:
            patch.setattr(os, "fsync", sync)
            run(OutputWanted(file, resume=True), OUTCOMES, REVERSED)
    assert synced == [(lines_of(OUTCOMES), sum(len(lines_of([outcome])) for outcome in OUTCOMES[1:]))]


# Whether it may begin


def test_a_file_with_something_in_it_is_not_touched(file: Path) -> None:
    file.write_text("mine")
    with pytest.raises(ProfileError, match=r"out\.jsonl is there already; give another name, or go on with --resume"):
        run(OutputWanted(file), OUTCOMES)
    with pytest.raises(ProfileError, match=r"option --resume: .* cannot be gone on with: .*settings\.json.* missing"):
        run(OutputWanted(file, resume=True), OUTCOMES)
    assert files_in(file.parent) == {"out.jsonl": b"mine"}
    assert len(list(file.parent.iterdir())) == 1, "nor is a folder made"


def test_an_empty_file_is_fine_and_so_is_going_on_with_nothing(file: Path) -> None:
    file.touch()
    run(OutputWanted(file), OUTCOMES)
    other = file.with_name("other.jsonl")
    run(OutputWanted(other, resume=True), OUTCOMES)
    assert other.read_bytes() == file.read_bytes() == lines_of(OUTCOMES)


def test_the_file_is_there_before_the_first_result(file: Path) -> None:
    with open_output(OutputWanted(file), SETTINGS):
        assert file.read_bytes() == b""
        assert json.loads(Path(f"{file}.run/settings.json").read_text())["decoding"] == SETTINGS["decoding"]


def test_results_that_are_only_held_are_not_begun_over(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES, REVERSED, writes=2)
    assert file.read_bytes() == b""
    file.unlink()
    with pytest.raises(ProfileError, match=r"held\.jsonl has results of a run that was ended; go on with --resume"):
        run(OutputWanted(file), OUTCOMES)
    assert run(OutputWanted(file, resume=True), OUTCOMES) == 4


def test_changed_settings_are_named(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES, writes=2)
    before = files_in(file.parent)
    for settings, how, said in (
        ({"decoding": {"seed": 8, "stop": ["a"]}}, {}, "decoding.seed = 7, and now it is 8"),
        ({"decoding": {"seed": 7, "stop": ["a", "b"]}}, {}, r'decoding.stop = \["a"\], and now it is \["a", "b"\]'),
        (SETTINGS, {"with_tokens": True}, "output.with_tokens = false, and now it is true"),
        (SETTINGS, {"ordered": False}, "output.ordered = true, and now it is false"),
    ):
        with pytest.raises(
            ProfileError, match=rf"option --resume: .*out\.jsonl was begun with {said}: ask for the same"
        ):
            run(OutputWanted(file, resume=True, **how), OUTCOMES, settings=settings)  # type: ignore[arg-type]
    assert files_in(file.parent) == before


def test_without_a_result_other_settings_do_no_harm(file: Path) -> None:
    run(OutputWanted(file), OUTCOMES, writes=0)
    other = {"decoding": {"seed": 8}}
    assert stored_settings(OutputWanted(file, resume=True)) is None
    run(OutputWanted(file, resume=True), OUTCOMES, writes=1, settings=other)
    assert (stored_settings(OutputWanted(file, resume=True)) or {})["decoding"] == {"seed": 8}


def test_what_was_drawn_can_be_taken_over(file: Path) -> None:
    wanted = OutputWanted(file, resume=True)
    assert stored_settings(wanted) is None
    run(wanted, OUTCOMES, writes=1, settings={"decoding": {"seed": 123, "stop": ("a", "b")}})
    stored = stored_settings(wanted)
    assert stored is not None
    assert stored["decoding"] == {"seed": 123, "stop": ["a", "b"]}
    assert stored_settings(OutputWanted(file)) is None
    run(wanted, OUTCOMES, settings={"decoding": {"seed": stored["decoding"]["seed"], "stop": ("a", "b")}})
    assert file.read_bytes() == lines_of(OUTCOMES)


@pytest.mark.parametrize("content", ["", "[]", '{"a', "[" * 100_000])
def test_damaged_settings_are_one_sentence(file: Path, content: str) -> None:
    run(OutputWanted(file), OUTCOMES, writes=1)
    Path(f"{file}.run/settings.json").write_text(content)
    with pytest.raises(ProfileError, match=r"option --resume: .*settings\.json is damaged: give another name"):
        run(OutputWanted(file, resume=True), OUTCOMES)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("out.jsonl", b'{"id": "a", "te\n' + lines_of(OUTCOMES[:1]), r"out\.jsonl is damaged in line 1 \(not JSON\)"),
        (
            "out.jsonl",
            lines_of([*OUTCOMES[:2], OUTCOMES[0]]),
            r"out\.jsonl is damaged in line 3 \(an id for the second",
        ),
        ("out.jsonl.run/held.jsonl", b"{}\n" + lines_of(OUTCOMES[:1]), r"held\.jsonl is damaged in line 1 \(no id\)"),
    ],
)
def test_damage_elsewhere_than_at_the_end_is_refused_by_its_line(
    file: Path, name: str, content: bytes, said: str
) -> None:
    run(OutputWanted(file), OUTCOMES, REVERSED, writes=2)
    (file.parent / name).write_bytes(content)
    before = files_in(file.parent)
    with pytest.raises(ProfileError, match=f"option --resume: .*{said}.*: take it out"):
        run(OutputWanted(file, resume=True), OUTCOMES)
    assert files_in(file.parent) == before


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (OutputWanted(Path("missing/out.jsonl")), "out.jsonl cannot be written: No such file.*; make its folder first"),
        (OutputWanted(Path()), "option --output: . is a folder"),
        (OutputWanted(Path("/")), "option --output: / is a folder"),
        (OutputWanted(Path("n" * 300)), "option --output: n+ cannot be written: File name too long"),
        (OutputWanted(resume=True), "option --resume: there is nothing to go on with; name a file with --output"),
        (OutputWanted(retry_failed=True), "option --retry-failed: there is nothing to go on with"),
        (OutputWanted(Path("/dev/null"), resume=True), "option --resume: .* /dev/null is not a file"),
        (OutputWanted(Path("/dev/stdout"), resume=True), "option --resume: .* /dev/stdout is not a file"),
        (OutputWanted(Path("a.TXT"), Path()), r"option --output: a.TXT could be the text file of a result"),
        (OutputWanted(folder=Path("there")), "option --out-dir: there cannot be written: File exists"),
    ],
)
def test_what_cannot_be_is_said_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: OutputWanted, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    with pytest.raises(ProfileError, match=said), open_output(wanted, SETTINGS):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["there"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files_is_one_sentence(file: Path) -> None:
    file.parent.chmod(0o500)
    with pytest.raises(ProfileError, match=r"out\.jsonl cannot be written: Permission denied"):
        run(OutputWanted(file), OUTCOMES)


@pytest.mark.parametrize("first", [OUTCOMES[0], OUTCOMES[5]])
def test_a_full_disk_ends_the_run_and_loses_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, first: Outcome
) -> None:
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if len(content) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[: len(content) // 2])

    with monkeypatch.context() as patch, open_output(OutputWanted(file), SETTINGS) as output:
        read_all(output, OUTCOMES)
        output.write(OUTCOMES[3])
        patch.setattr(os, "write", full)
        with pytest.raises(ResourceError, match=r"(out|held)\.jsonl could not be written: No space left on device"):
            output.write(first)
    assert run(OutputWanted(file, resume=True), OUTCOMES) == 5
    assert file.read_bytes() == lines_of(OUTCOMES)


# Two at once

BLOCKED = """
import sys
from pathlib import Path
from lookahead_cli.batch.output import OutputWanted, open_output
from tests.batch.made_outcomes import SETTINGS, made_result
with open_output(OutputWanted(Path(sys.argv[1]), resume=True), SETTINGS) as output:
    for number in range(3):
        output.expect(number)
    output.write(made_result(1))
    print("writing", flush=True)
    sys.stdin.read()
"""


def start(file: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BLOCKED, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_two_runs_never_write_the_same_file_and_a_killed_one_does_not_keep_it(file: Path) -> None:
    link = file.with_name("link.jsonl")
    link.symlink_to(file)
    with start(file) as process:
        before = files_in(file.parent)
        for name in (file, link):
            for resume in (True, False):
                with pytest.raises(
                    ProfileError, match=rf"{name.name} is being written by another run; wait"
                ) as refused:
                    run(OutputWanted(name, resume=resume), OUTCOMES)
                assert refused.value.exit_code == 2
        assert files_in(file.parent) == before
        process.kill()
    outcomes = [made_result(number) for number in range(3)]
    assert run(OutputWanted(link, resume=True), outcomes) == 2
    assert file.read_bytes() == lines_of(outcomes)
    assert link.is_symlink()


# Where nothing can be read back


def collected(wanted: OutputWanted, capsysbinary: pytest.CaptureFixture[bytes]) -> tuple[list[int], list[bytes]]:
    """How many were held, and what had come out, after each write in reverse order."""
    counts, parts = [], []
    with open_output(wanted, SETTINGS) as output:
        assert read_all(output, OUTCOMES) == list(range(6)), "nothing is known"
        for number in (1, 2, 0, 3, 5, 4):
            output.write(OUTCOMES[number])
            counts.append(output.held)
            parts.append(capsysbinary.readouterr().out)
        output.finish()
    return counts, parts


def test_without_a_file_what_waits_is_counted(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    counts, parts = collected(OutputWanted(), capsysbinary)
    assert counts == [1, 2, 0, 0, 1, 0]
    assert parts == [b"", b"", lines_of(OUTCOMES[:3]), lines_of(OUTCOMES[3:4]), b"", lines_of(OUTCOMES[4:])]


def test_unordered_each_line_leaves_at_once(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    counts, parts = collected(OutputWanted(ordered=False), capsysbinary)
    assert counts == [0] * 6
    assert parts == [lines_of([OUTCOMES[number]]) for number in (1, 2, 0, 3, 5, 4)]


def test_a_stdout_that_takes_only_text_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    run(OutputWanted(), OUTCOMES)
    assert stdout.getvalue() == lines_of(OUTCOMES).decode()


def test_a_terminal_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = StringIO()
    monkeypatch.setattr(stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", stdout)
    run(OutputWanted(), OUTCOMES)
    assert stdout.getvalue().isascii()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_gets_lines_and_has_no_folder(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    run(OutputWanted(pipe), OUTCOMES, REVERSED)
    assert os.read(reader, 1 << 16) == lines_of(OUTCOMES)
    with open_output(OutputWanted(pipe), SETTINGS) as output:
        read_all(output, OUTCOMES)
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            output.write(OUTCOMES[0])
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has such a device")
def test_devices_are_written_straight() -> None:
    run(OutputWanted(Path("/dev/null")), OUTCOMES)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(ResourceError, match="/dev/full could not be written: No space left on device"):
        run(OutputWanted(Path("/dev/full")), OUTCOMES)


# A text file for each


def test_a_folder_gets_a_text_file_of_each_result_and_the_lines(folder: Path) -> None:
    texts = folder / "texts"
    run(OutputWanted(folder=texts), OUTCOMES, REVERSED)
    assert (texts / "results.jsonl").read_bytes() == lines_of(OUTCOMES)
    assert {file.name for file in texts.glob("*.txt")} == {f"id-{number}.txt" for number in (0, 1, 3, 5)}
    assert (texts / "id-5.txt").read_text(encoding="utf-8") == "ü" * 5


def test_going_on_text_files_are_written_only_where_they_are_missing(folder: Path) -> None:
    run(OutputWanted(folder=folder), OUTCOMES)
    (folder / "id-0.txt").write_text("edited")
    for number in (1, 5):
        (folder / f"id-{number}.txt").unlink()
    run(OutputWanted(folder=folder, retry_failed=True), RETRIED)  # moves number 5 to those held
    assert (folder / "id-0.txt").read_text() == "edited"
    for number in range(1, 6):
        assert (folder / f"id-{number}.txt").read_text(encoding="utf-8") == "ü" * number
    assert len(list(folder.glob("*.txt"))) == 6


def test_a_text_file_is_there_before_its_line(folder: Path) -> None:
    states = states_while(folder, lambda: run(OutputWanted(folder=folder), OUTCOMES, [1, 0, 2]))
    for state in states:
        lines = (state.get("results.jsonl", b"") + state.get("results.jsonl.run/held.jsonl", b"")).splitlines()
        for line in map(json.loads, lines):
            if "text" in line:
                assert state[f"{line['id']}.txt"].decode() == line["text"]


def test_a_file_for_the_lines_can_be_named_beside_a_folder(file: Path, folder: Path) -> None:
    run(OutputWanted(file, folder), OUTCOMES)
    assert file.read_bytes() == lines_of(OUTCOMES)
    assert {path.suffix for path in folder.iterdir()} == {".txt"}


def test_nothing_is_known_of_what_nobody_wrote(file: Path) -> None:
    with open_output(OutputWanted(file), SETTINGS) as output:
        assert isinstance(output, Output)
        assert not output.known("id-0")
        with pytest.raises(ValueError, match="number 3 is not expected"):
            output.write(OUTCOMES[3])
