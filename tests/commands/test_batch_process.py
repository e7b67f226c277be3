"""`lookahead batch` as a process: killed, interrupted, in a pipeline, on a disk that is full."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands.screens import LOOKAHEAD, PATIENCE, Screen

RECORDS = 250
KILLS = 20


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    chance = random.Random(1)
    words = ["hello", "world", "the", "end", "look", "ahead", "return", "def"]
    lines: list[str] = []
    for number in range(RECORDS):
        prompt = " ".join(chance.choices(words, k=chance.randint(1, 12)))
        lines.append(json.dumps({"id": f"r{number}", "prompt": prompt, "max_new_tokens": chance.randint(1, 60)}))
    lines[17] = "{broken"
    file = tmp_path / "prompts.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


def command(folder: str, *arguments: object) -> list[str]:
    return [*LOOKAHEAD, "batch", *map(str, arguments), "-m", folder, "--threads", "1"]


def objects(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def run_with_kills(folder: str, prompts: Path, output: Path, env: dict[str, str], kills: int) -> int:
    """Start the run again and again, kill it at random moments while it writes; how often it was killed."""
    chance = random.Random(7)
    killed = 0
    asked = command(folder, prompts, "-o", output, "--resume", "-t", "0.9", "--no-stats", "--batch-size", "5")
    for _ in range(kills):
        before = output.stat().st_size if output.exists() else 0
        process = subprocess.Popen(asked, env=env, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        more = chance.randint(1, RECORDS // (2 * kills)) * 60  # bytes: while it loads there is nothing to be lost
        while process.poll() is None and time.monotonic() < deadline:
            if (output.stat().st_size if output.exists() else 0) > before + more:
                break
            time.sleep(0.001)
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert subprocess.run(asked, env=env, stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode == 1
    return killed


@pytest.mark.slow
def test_killed_twenty_times_and_taken_up_again_gives_the_same_file(
    llama_folder: str, prompts: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed.jsonl", tmp_path / "disturbed.jsonl"
    asked = command(llama_folder, prompts, "-o", undisturbed, "-t", "0.9", "--no-stats", "--batch-size", "5")
    assert subprocess.run(asked, env=env, stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode == 1
    killed = run_with_kills(llama_folder, prompts, disturbed, env, KILLS)
    assert killed >= KILLS - 1, "it was at work when it was killed"
    assert disturbed.read_bytes() == undisturbed.read_bytes()
    assert len(objects(disturbed)) == RECORDS
    assert len({record["id"] for record in objects(disturbed)}) == RECORDS


def test_two_runs_do_not_share_an_output(llama_folder: str, prompts: Path, tmp_path: Path, env: dict[str, str]) -> None:
    asked = command(llama_folder, "-", "-o", tmp_path / "out.jsonl", "--resume")
    first = subprocess.Popen(asked, env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stderr is not None
    assert b"batch size" in first.stderr.readline()
    second = subprocess.run(asked, env=env, input=b"", capture_output=True, timeout=PATIENCE)
    assert second.returncode == 2
    assert b"out.jsonl" in second.stderr
    assert second.stderr.count(b"\n") == 1
    first.communicate(b"hello\n", timeout=PATIENCE)
    assert first.returncode == 0
    assert len(objects(tmp_path / "out.jsonl")) == 1


def test_in_a_pipeline_a_result_appears_while_the_input_is_still_open(llama_folder: str, env: dict[str, str]) -> None:
    process = subprocess.Popen(
        command(llama_folder, "-n", "5"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number in (1, 2):
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == f"stdin:{number}"
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_folder_that_standard_output_goes_to_is_read_once(
    llama_folder: str, tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"id": "a", "prompt": "hello"}\n')
    output = tmp_path / "results.jsonl"
    with output.open("wb") as stdout:
        asked = command(llama_folder, tmp_path, "-n", "5")
        assert subprocess.run(asked, env=env, stdout=stdout, timeout=PATIENCE).returncode == 0
    assert [result["id"] for result in objects(output)] == ["a"]


def test_a_closed_pipe_ends_the_run_quietly(llama_folder: str, prompts: Path, env: dict[str, str]) -> None:
    process = subprocess.Popen(command(llama_folder, prompts), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(PATIENCE) == 141
    assert said.count(b"\n") == 1, said  # the note at the beginning
    assert b"Traceback" not in said


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(
    llama_folder: str, prompts: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    output = tmp_path / "out.jsonl"
    asked = command(llama_folder, prompts, "-o", output, "--batch-size", "4")
    process = subprocess.Popen(asked, env=env, stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while (not output.exists() or not output.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"--resume goes on from here" in said
    assert b"Traceback" not in said
    assert 0 < len(objects(output)) < RECORDS
    assert subprocess.run([*asked, "--resume"], env=env, stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode == 1
    assert [record["id"] for record in objects(output) if "text" in record] == [
        f"r{number}" for number in range(RECORDS) if number != 17
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="limits file sizes as Linux does")
def test_a_full_disk_is_told_and_what_was_written_is_whole(
    llama_folder: str, prompts: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    output = tmp_path / "out.jsonl"
    asked = command(llama_folder, prompts, "-o", output)
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 12; exec "$@"', "-", *asked]
    env = {**env, "LOOKAHEAD_CACHE": str(tmp_path / "cache")}
    process = subprocess.run(limited, env=env, capture_output=True, timeout=PATIENCE)
    assert process.returncode == 1, process.stderr
    assert b"could not be written: File too large" in process.stderr
    assert b"Traceback" not in process.stderr
    assert objects(output)
    assert output.read_bytes().endswith(b"\n")
    assert subprocess.run([*asked, "--resume"], env=env, stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode == 1
    assert len(objects(output)) == RECORDS


def test_progress_on_a_terminal(llama_folder: str, prompts: Path, tmp_path: Path, env: dict[str, str]) -> None:
    screen = Screen(*command(llama_folder, prompts, "-o", tmp_path / "out.jsonl")[len(LOOKAHEAD) :], env=env)
    screen.wait_for("tokens per step")
    assert any(" done" in row and "tokens/s" in row for row in screen.rows)
    assert screen.wait_for_end() == 1
    rows = screen.rows
    assert any(re.match(rf"note: {RECORDS - 1} records answered in (\d\.\d s|0:\d\d): ", row) for row in rows)
    assert any("1 record failed, the first one:" in row for row in rows)
    assert not any(" left" in row for row in rows), "the line that changes is gone"


@pytest.mark.slow
def test_a_hundred_thousand_lines_with_broken_ones_take_no_more_memory_than_a_thousand(
    llama_folder: str, tmp_path: Path, env: dict[str, str]
) -> None:
    peaks = []
    for count in (1_000, 100_000):
        file, output = tmp_path / f"{count}.txt", tmp_path / f"{count}.jsonl"
        good = json.dumps({"prompt": "a"})
        file.write_text("".join("{broken\n" if number % 100 == 0 else good + "\n" for number in range(count)))
        asked = command(llama_folder, file, "--format", "jsonl", "-o", output, "-n", "1", "--strategy", "greedy")
        with (tmp_path / "said").open("w") as said:
            process = subprocess.Popen(asked, env=env, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 1
        assert "records answered" in (tmp_path / "said").read_text()
        peaks.append(usage.ru_maxrss)
        with output.open() as lines:
            failed = sum('"error"' in line for line in lines)
        assert failed == count // 100
    assert peaks[1] < peaks[0] + 60_000  # kB
