"""`generate --explain`, `--step-delay` and `--trace`, and `replay`: in a pipe, and what is said about bad input."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from lookahead_cli.decoding.loop import decode
from lookahead_cli.errors import ResourceError
from lookahead_cli.line_file import write_all
from lookahead_cli.text.visible import visible
from tests.commands.conftest import TEXT, Lookahead, Outcome
from tests.commands.test_generate import sentence
from tests.tiny_models import save_tiny_llama

TRACE = "trace.jsonl"
EVERY_WAY = {
    "greedy": ["--strategy", "greedy"],
    "jacobi": ["--strategy", "jacobi", "-k", "5"],
    "lookahead": ["-k", "16"],
    "window": ["--profile", "./window.toml"],
    "sampled": ["-k", "8", "-t", "0.9", "--seed", "3"],
    "speculative": ["--strategy", "speculative", "--draft-model", "./small", "-k", "4"],
}


@pytest.fixture
def llama(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> Lookahead:
    """`lookahead generate` on a random model, with what the ways above need."""
    (tmp_path / "window.toml").write_text("[decoding]\nk = 6\nwindow = 3\nngram_length = 3\n")
    (tmp_path / "small").symlink_to(save_tiny_llama(tmp_path / "saved", seed=7, num_hidden_layers=1))

    def generate(*arguments: str) -> Outcome:
        outcome = lookahead("generate", "-m", llama_folder, "-p", "hello", "-n", "30", *arguments)
        assert outcome.code == 0, outcome.stderr
        return outcome

    return generate


def step_lines(printed: str) -> list[str]:
    """The lines of steps in what --explain prints, without their times."""
    return [re.sub(r" +\d+\.\d ms", "", line) for line in printed.splitlines() if re.match(r" +\d+ +\d+\.\d ms ", line)]


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_replay_shows_what_the_generation_showed(
    llama: Lookahead, lookahead: Lookahead, tmp_path: Path, way: str
) -> None:
    as_json = llama("--json", "--trace", TRACE, *EVERY_WAY[way]).stdout
    assert lookahead("replay", TRACE, "--json").stdout == as_json
    text = json.loads(as_json)["text"]
    assert lookahead("replay", TRACE).text == text
    explained = llama("--explain", "--trace", TRACE, *EVERY_WAY[way])
    steps = [json.loads(line) for line in Path(TRACE).read_text(encoding="utf-8").split("\n")[2:-2]]
    again = lookahead("replay", TRACE, "--explain")
    assert again.stdout == explained.stdout
    assert again.stderr == explained.stderr
    assert explained.text.endswith(f"\n\n{visible(text)}\n")
    lines = step_lines(explained.text)
    assert len(lines) == len(steps)
    for number, (line, step) in enumerate(zip(lines, steps, strict=True), start=1):
        assert line.split()[0] == str(number)
        assert line.count(" ✓") == len(step["path"])
        assert line.count(" +") == len(step["token_ids"]) - len(step["path"])
    drafters = {name for step in steps for name in step["draft"]["provenance"]}
    assert all(any(f"{name} " in line for line in lines) for name in drafters)
    if way == "window":
        assert "window" in drafters


def test_explained_steps_end_with_the_whole_text_and_the_summary(parrot: Lookahead) -> None:
    outcome = parrot("--explain", "--strategy", "jacobi", "-k", "6")
    assert outcome.code == 0
    legend, steps, text = outcome.text.split("\n\n", 2)
    assert "one pass of the model" in legend
    assert len(step_lines(steps)) == steps.count("\n") + 1
    assert text == TEXT.replace("\x1b", "␛") + "\n"
    assert "tokens per step" in outcome.stderr
    assert "the model ended the text" in outcome.stderr
    assert any("(jacobi 6/6)" in line and line.count("✓") == 6 for line in steps.splitlines())
    silent = parrot("--explain", "--no-stats", "--strategy", "greedy")
    assert silent.stderr == ""
    assert silent.text.startswith("   1 ")


def test_the_end_of_text_is_named_and_guesses_behind_it_are_counted(parrot: Lookahead) -> None:
    for k in range(10, 20):
        last = step_lines(parrot("--explain", "--strategy", "jacobi", "-k", str(k), "--trace", TRACE).text)[-1]
        step = json.loads(Path(TRACE).read_text(encoding="utf-8").split("\n")[-3])
        behind = len(step["draft"]["tokens"]) - len(step["token_ids"])
        if len(step["path"]) == len(step["token_ids"]) and behind:
            assert f" ✓<|im_end|> ({behind} behind the end) (jacobi " in last
            return
    pytest.fail("no text ended with an accepted guess")


def test_always_coloured_steps_use_no_signs(parrot: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "colored.toml").write_text('[display]\ncolor = "always"\n')
    outcome = parrot("--profile", "./colored.toml", "--explain", "--strategy", "jacobi", "-k", "4")
    assert "✓" not in outcome.text
    assert "\x1b[32m" in outcome.text
    assert "\x1b[2;9m" in outcome.text
    assert "\x1b[31m" not in outcome.text, "what the text says commands nothing"


@pytest.mark.parametrize(
    ("ending", "code", "reason"),
    [(KeyboardInterrupt(), 130, "interrupted"), (ResourceError("the memory is gone"), 1, "failed")],
    ids=["interrupted", "failed"],
)
def test_what_was_cut_short_is_replayed_as_that(
    parrot: Lookahead,
    lookahead: Lookahead,
    monkeypatch: pytest.MonkeyPatch,
    ending: BaseException,
    code: int,
    reason: str,
) -> None:
    def cut_short(*arguments: Any) -> Iterator[Any]:
        yield from islice(decode(*arguments), 1 + 3)
        raise ending

    monkeypatch.setattr("lookahead_cli.session.decode", cut_short)
    outcome = parrot("--json", "--trace", TRACE, "-k", "4")
    assert outcome.code == code
    replayed = lookahead("replay", TRACE, "--json")
    assert (replayed.code, replayed.stderr) == (0, "")
    assert replayed.stdout == outcome.stdout
    assert json.loads(replayed.stdout)["finish_reason"] == reason
    assert reason in lookahead("replay", TRACE, "--explain").stderr


def test_a_prompt_that_was_never_read_leaves_an_empty_trace_that_can_be_replayed(
    parrot: Lookahead, lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> Iterator[Any]:
        yield from cut_off()

    def cut_off() -> list[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr("lookahead_cli.session.decode", failing)
    assert parrot("--trace", TRACE).code == 130
    for how in ([], ["--explain"]):
        replayed = lookahead("replay", TRACE, *how)
        assert (replayed.code, replayed.stdout) == (0, b"")
    assert json.loads(lookahead("replay", TRACE, "--json").stdout)["finish_reason"] == "interrupted"


def test_a_torn_trace_is_played_up_to_there_with_a_note(parrot: Lookahead, lookahead: Lookahead) -> None:
    parrot("--trace", TRACE, "--strategy", "greedy")
    content = Path(TRACE).read_bytes()
    lines = content.splitlines(keepends=True)
    Path(TRACE).write_bytes(b"".join(lines[:12]) + lines[12][:30])
    outcome = lookahead("replay", TRACE)
    assert outcome.code == 0
    assert outcome.text
    assert TEXT.startswith(outcome.text)
    assert outcome.stderr == "note: the trace breaks off in the middle of line 13: this is all up to there\n"
    Path(TRACE).write_bytes(b"".join(lines[:12]))
    assert "the trace has no end" in lookahead("replay", TRACE).stderr
    Path(TRACE).write_bytes(b"".join([*lines[:12], lines[12][:30], b"\n", *lines[13:]]))
    outcome = lookahead("replay", TRACE)
    assert (outcome.code, outcome.stdout) == (2, b"")
    assert re.match(rf"trace {TRACE}: line 13 is damaged \(.*\); record the trace again", sentence(outcome.stderr))


def test_a_trace_may_come_from_standard_input(parrot: Lookahead, lookahead: Lookahead) -> None:
    text = parrot("--trace", TRACE).stdout
    assert lookahead("replay", "-", stdin=Path(TRACE).read_bytes()).stdout == text
    assert "standard input is empty" in sentence(lookahead("replay", "-", stdin=b"").stderr)
    assert "no trace on standard input" in sentence(lookahead("replay", "-").stderr)


def test_a_trace_does_not_change_what_comes_out(parrot: Lookahead) -> None:
    outcome = parrot("--trace", TRACE)
    assert (outcome.code, outcome.text, outcome.stderr) == (0, TEXT, "")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds somebody waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr("lookahead_cli.render.pace.sleep", waited.append)
    return waited


def test_a_step_delay_waits_after_every_step_but_the_last_and_is_in_no_time(
    parrot: Lookahead, waits: list[float]
) -> None:
    result = json.loads(parrot("--json", "--step-delay", "700", "-k", "4").stdout)
    assert waits == [700.0] * (len(result["steps"]) - 1)
    assert result["stats"]["decode_seconds"] < 700


def test_replays_wait_as_long_as_it_took(parrot: Lookahead, lookahead: Lookahead, waits: list[float]) -> None:
    parrot("--trace", TRACE, "-k", "4")
    lines = [json.loads(line) for line in Path(TRACE).read_text().splitlines()]
    seconds = [line["seconds"] for line in lines[1:-1]]
    for speed, expected in {"1": seconds, "2": [each / 2 for each in seconds], "max": []}.items():
        waits.clear()
        assert lookahead("replay", TRACE, "--speed", speed).text == TEXT
        assert waits == expected
    waits.clear()
    lookahead("replay", TRACE)
    assert waits == [], "nobody watches a pipe"
    lookahead("replay", TRACE, "--step-delay", "0.5")
    assert waits == [0.5] * (len(seconds) - 2)


def test_ctrl_c_ends_a_replay_with_what_was_shown(
    parrot: Lookahead, lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = parrot("--trace", TRACE, "--strategy", "greedy").text
    left = iter(range(10))

    def sleep(seconds: float) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("lookahead_cli.render.pace.sleep", sleep)
    outcome = lookahead("replay", TRACE, "--speed", "1")
    assert outcome.code == 130
    assert outcome.text
    assert text.startswith(outcome.text)
    assert lookahead("replay", TRACE, "--speed", "1").code == 130, "before the first step too"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "-p", "x", "--explain", "--json"], ["--explain and --json", "give one of them"]),
        (["generate", "-p", "x", "--step-delay", "-1"], ["option --step-delay", '"-1" is not', "from 0 to 3600"]),
        (["generate", "-p", "x", "--step-delay", "nan"], ["option --step-delay"]),
        (["generate", "-p", "x", "--step-delay", "long"], ["option --step-delay", '"long" is not allowed']),
        (["generate", "-p", "x", "--trace", "-"], ["option --trace", "standard output is for the text"]),
        (["generate", "-p", "x", "--trace", "."], ["option --trace", "Is a directory"]),
        (["generate", "-p", "x", "--trace", "none/t"], ["option --trace", "none/t cannot be written", "No such file"]),
        (["generate", "-p", "x", "--trace", "novel.txt"], ["novel.txt is there already and is no trace"]),
        (["replay", "none.jsonl"], ["trace none.jsonl cannot be read", "No such file"]),
        (["replay", "."], ["trace . cannot be read", "Is a directory"]),
        (["replay", "novel.txt"], ["trace novel.txt is no trace", "generate --trace"]),
        (["replay", "novel.txt", "--speed", "0"], ["option --speed", '"0" is not allowed', "from 0.01 to 1000 or max"]),
        (["replay", "novel.txt", "--speed", "fast"], ["option --speed"]),
        (["replay", "novel.txt", "--explain", "--json"], ["--explain and --json"]),
        (["replay"], ["FILE"]),
    ],
    ids=lambda value: " ".join(value[-2:]) if value[0] in {"generate", "replay"} else None,
)  # fmt: skip
def test_bad_input_gets_one_sentence_and_exit_code_2(
    lookahead: Lookahead, tmp_path: Path, arguments: list[str], said: list[str]
) -> None:
    (tmp_path / "novel.txt").write_text("It was a dark night.\n")
    model = ["-m", "./not-even-looked-for"] if arguments[0] == "generate" else []
    outcome = lookahead(*arguments, *model)
    assert outcome.code == 2
    assert outcome.stdout == b""
    for part in said:
        assert part in sentence(outcome.stderr)


def test_a_disk_that_is_full_from_the_beginning_is_one_sentence(parrot: Lookahead) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no such device here")
    outcome = parrot("--trace", "/dev/full")
    assert (outcome.code, outcome.stdout) == (1, b"")
    assert sentence(outcome.stderr) == "/dev/full could not be written: No space left on device"


def test_a_disk_that_fills_up_does_not_cost_the_text_so_far(
    parrot: Lookahead, lookahead: Lookahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = iter(range(6))

    def write(file: BinaryIO, content: bytes) -> None:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(file, content)

    monkeypatch.setattr("lookahead_cli.trace.writing.write_all", write)
    outcome = parrot("--trace", TRACE, "--strategy", "greedy")
    assert outcome.code == 1
    assert outcome.text == lookahead("replay", TRACE).text == "Hello"
    assert sentence(outcome.stderr) == f"{TRACE} could not be written: No space left on device"


def test_replaying_imports_neither_torch_nor_transformers(parrot: Lookahead, tmp_path: Path) -> None:
    parrot("--trace", TRACE)
    program = (
        "import sys\nfrom lookahead_cli.program import run\n"
        f"sys.argv = ['lookahead', 'replay', {TRACE!r}, *sys.argv[1:]]\ncode = run()\n"
        "loaded = {'torch', 'transformers', 'tokenizers', 'numpy', 'huggingface_hub'} & set(sys.modules)\n"
        "sys.exit(f'{loaded} {code}' if loaded or code else 0)\n"
    )
    for how in ("--speed=max", "--explain", "--json"):
        ended = subprocess.run([sys.executable, "-c", program, how], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
