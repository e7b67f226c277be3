"""`lookahead batch` as its user sees it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.models.lean.batch_runner import LeanBatchRunner
from tests.commands.conftest import Lookahead, Outcome

PROMPTS = ["hello world", "the end", "def look", "ahead and return", "a", "hello hello hello hello", "ok", "looking"]


def objects(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.decode().splitlines()]


@pytest.fixture
def batch(lookahead: Lookahead, llama_folder: str) -> Lookahead:
    """`lookahead batch` on the tiny Llama, 12 tokens each."""

    def invoke(*arguments: str, stdin: bytes | None = None) -> Outcome:
        return lookahead("batch", *arguments, "-m", llama_folder, "-n", "12", stdin=stdin)

    return invoke


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    """A file of PROMPTS; also the working folder of the command."""
    (tmp_path / "prompts.txt").write_text("\n".join(PROMPTS) + "\n")
    return "prompts.txt"


def test_results_come_in_order_with_all_there_is_to_know(batch: Lookahead, prompts: str) -> None:
    outcome = batch(prompts, "--batch-size", "3")
    assert outcome.code == 0, outcome.stderr
    results = objects(outcome.stdout)
    assert [result["id"] for result in results] == [f"prompts.txt:{line}" for line in range(1, 9)]
    for result in results:
        assert list(result) == [
            "id", "text", "finish_reason", "prompt_tokens", "tokens", "steps", "tokens_per_step", "seconds"
        ]  # fmt: skip
        assert result["tokens"] <= 12
        assert result["tokens_per_step"] == round(result["tokens"] / result["steps"], 3)
    assert "8 records answered" in outcome.stderr
    assert "KV caches take at most" in outcome.stderr


@pytest.mark.parametrize("more", [[], ["-t", "0.9", "--seed", "5", "--stop", "e"]])
@pytest.mark.parametrize("strategy", ["lookahead", "speculative", "greedy"])
def test_a_record_gives_the_same_alone_and_in_any_batch(
    batch: Lookahead, tmp_path: Path, strategy: str, more: list[str], llama_folder: str
) -> None:
    records = [{"id": f"r{place}", "prompt": prompt} for place, prompt in enumerate(PROMPTS)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "turned.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records[::-1]))
    asked = ["--no-stats", "--strategy", strategy, "--draft-model", llama_folder, *more]
    alone = []
    for record in records[:3]:
        (tmp_path / "one.jsonl").write_text(json.dumps(record) + "\n")
        alone.append(batch("one.jsonl", *asked).stdout)
    together = batch("all.jsonl", "--batch-size", "5", *asked)
    assert together.code == 0, together.stderr
    assert together.stdout.startswith(b"".join(alone))
    turned = batch("turned.jsonl", "--batch-size", "3", *asked)
    assert sorted(turned.stdout.splitlines()) == sorted(together.stdout.splitlines())


def test_the_tokens_are_those_of_generate(
    batch: Lookahead, lookahead: Lookahead, prompts: str, llama_folder: str
) -> None:
    results = objects(batch(prompts, "--with-tokens", "--weights", "stored").stdout)
    for prompt, result in list(zip(PROMPTS, results, strict=True))[:4]:
        single = json.loads(lookahead("generate", "-m", llama_folder, "-n", "12", "-p", prompt, "--json").stdout)
        assert result["token_ids"] == single["token_ids"]
        assert result["text"] == single["text"]
        assert result["finish_reason"] == single["finish_reason"]
        assert len(result["provenance"]) == len(result["token_ids"])


def test_transformers_gives_the_tokens_of_the_lean_runner(batch: Lookahead, prompts: str) -> None:
    asked = [prompts, "--dtype", "float32", "--no-stats", "--batch-size", "4"]
    lean, transformers = batch(*asked), batch(*asked, "--runner", "transformers")
    assert transformers.code == 0, transformers.stderr
    assert transformers.stdout == lean.stdout
    assert "one after the other" not in transformers.stderr


def test_a_seed_in_the_result_gives_the_same_text_again(
    batch: Lookahead, lookahead: Lookahead, prompts: str, llama_folder: str
) -> None:
    results = objects(batch(prompts, "-t", "1.0").stdout)
    assert len({result["seed"] for result in results}) == len(PROMPTS)
    asked = ["generate", "-m", llama_folder, "-n", "12", "-p", PROMPTS[2], "-t", "1.0", "--json"]
    single = json.loads(lookahead(*asked, "--seed", str(results[2]["seed"])).stdout)
    assert single["text"] == results[2]["text"]


def test_records_have_their_own_settings(batch: Lookahead, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": 1, "prompt": "hello", "max_new_tokens": 3},
        {"id": "two", "messages": [{"role": "system", "content": "ok"}, {"role": "user", "content": "hello"}]},
        {"id": "three", "prompt": "hello", "system": "ok"},
        {"id": "four", "prompt": "hello", "temperature": 1.5, "seed": 7},
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second, third, fourth = objects(batch("own.jsonl").stdout)
    assert (first["id"], first["tokens"], first["finish_reason"]) == ("1", 3, "length")
    assert second["text"] == third["text"]
    assert second["prompt_tokens"] == third["prompt_tokens"] > first["prompt_tokens"]
    assert fourth["seed"] == 7
    assert "seed" not in first


def test_what_cannot_be_answered_fails_alone(batch: Lookahead, tmp_path: Path) -> None:
    lines = [
        '{"id": "good", "prompt": "hello"}', "{oops", '{"id": "long", "prompt": "' + "hello " * 500 + '"}',
        '{"id": "good", "prompt": "again"}', '{"id": "none"}', '{"id": "last", "prompt": "hello"}',
        '{"id": "special", "prompt": "x", "stop": "<|im_end|>"}',
    ]  # fmt: skip
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    outcome = batch("some.jsonl")
    assert outcome.code == 1
    results = objects(outcome.stdout)
    assert [result["id"] for result in results if "text" in result] == ["good", "last"]
    failed = {result["id"]: result for result in results if "error" in result}
    assert len(results) == len(lines)
    assert "not JSON" in failed["some.jsonl:2"]["error"]
    assert [result["line"] for result in results if "error" in result] == [2, 3, 4, 5, 7]
    assert "leaves no room in the context of 128" in failed["long"]["error"]
    assert "duplicate id" in failed["some.jsonl:4"]["error"]
    assert "special token" in failed["special"]["error"]
    assert "5 records failed, the first one: some.jsonl, line 2" in outcome.stderr
    assert "--retry-failed" not in outcome.stderr, "there is no file to go on with"
    assert "Traceback" not in outcome.stderr


def test_strict_stops_at_the_first_failure_and_can_go_on(batch: Lookahead, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('{"prompt": "hello"}\n{"prompt": 3}\n{"prompt": "ok"}\n')
    outcome = batch("some.jsonl", "-o", "out.jsonl", "--strict")
    assert outcome.code == 1
    assert "some.jsonl, line 2: " in outcome.stderr
    assert "--strict" in outcome.stderr
    file.write_text('{"prompt": "hello"}\n{"prompt": "3"}\n{"prompt": "ok"}\n')
    assert batch("some.jsonl", "-o", "out.jsonl", "--strict", "--resume").code == 0
    results = objects((tmp_path / "out.jsonl").read_bytes())
    assert [result["id"] for result in results] == ["some.jsonl:1", "some.jsonl:2", "some.jsonl:3"]


def test_a_run_that_goes_on_gives_the_same_file(batch: Lookahead, prompts: str, tmp_path: Path) -> None:
    asked = ["--batch-size", "3", "-t", "0.8", "--no-stats"]
    assert batch(prompts, "-o", "whole.jsonl", *asked).code == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert batch(prompts, "-o", "cut.jsonl", *asked).code == 0
    (tmp_path / "cut.jsonl").write_bytes(whole[: len(whole) // 2])
    assert batch(prompts, "-o", "cut.jsonl", *asked, "--resume").code == 0
    assert (tmp_path / "cut.jsonl").read_bytes() == whole
    again = batch(prompts, "-o", "cut.jsonl", *asked, "--resume")
    assert "done before: 8 records" in again.stderr
    assert (tmp_path / "cut.jsonl").read_bytes() == whole


def test_what_the_run_writes_is_no_input(batch: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": "a", "prompt": "hello"}\n{"id": "none"}\n')
    command = ["in", "-o", "in/out.jsonl", "--out-dir", "in/texts", "--no-stats", "--resume"]
    assert batch(*command).code == 1
    results = (tmp_path / "in" / "out.jsonl").read_bytes()
    assert [result["id"] for result in objects(results)] == ["a", "none"]
    (tmp_path / "in" / "out.jsonl.run" / "held.jsonl").write_bytes(b"")
    for inputs in (["in"], ["in/**/*"], ["in/a.jsonl", "in/out.jsonl"]):
        assert "done before: 2 records" in batch(*inputs, *command[1:]).stderr
        assert (tmp_path / "in" / "out.jsonl").read_bytes() == results


def test_texts_do_not_go_where_prompts_are_found(batch: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("hello\n")
    refused = batch("in", "--out-dir", "in")
    assert refused.code == 2
    assert "in/a.txt is there already and would be taken for the text of a result" in refused.stderr
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.txt"]
    assert batch("in/a.txt", "--out-dir", "in").code == 0
    nothing = batch("in/results.jsonl", "--out-dir", "in", "--resume")
    assert nothing.code == 2
    assert "there is no input" in nothing.stderr


def test_a_drawn_seed_is_taken_over(batch: Lookahead, prompts: str, tmp_path: Path) -> None:
    asked = ["-o", "out.jsonl", "-t", "1.0", "--seed", "random", "--no-stats"]
    assert batch(prompts, *asked).code == 0
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(whole[: len(whole) // 3])
    assert batch(prompts, *asked, "--resume").code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == whole


def test_other_settings_are_no_way_to_go_on(batch: Lookahead, prompts: str) -> None:
    assert batch(prompts, "-o", "out.jsonl").code == 0
    outcome = batch(prompts, "-o", "out.jsonl", "--resume", "-t", "0.5")
    assert outcome.code == 2
    assert "settings.decoding.temperature = 0.0, and now it is 0.5" in outcome.stderr


def test_what_failed_is_tried_again_in_its_turn(batch: Lookahead, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('{"id": "a", "prompt": "hello"}\n{"id": "b"}\n{"id": "c", "prompt": "ok"}\n')
    first = batch("some.jsonl", "-o", "out.jsonl")
    assert first.code == 1
    assert "1 record failed" in first.stderr
    assert "(--retry-failed tries again)" in first.stderr
    file.write_text('{"id": "a", "prompt": "hello"}\n{"id": "b", "prompt": "x"}\n{"id": "c", "prompt": "ok"}\n')
    unchanged = batch("some.jsonl", "-o", "out.jsonl", "--resume")
    assert unchanged.code == 1
    assert "done before: 3 records, 1 of them failed (--retry-failed tries again)" in unchanged.stderr
    outcome = batch("some.jsonl", "-o", "out.jsonl", "--retry-failed")
    assert outcome.code == 0, outcome.stderr
    assert [result["id"] for result in objects((tmp_path / "out.jsonl").read_bytes()) if "text" in result] == list(
        "abc"
    )


def test_texts_go_to_files_inside_the_folder(batch: Lookahead, tmp_path: Path) -> None:
    ids = ["../../x", "x" * 300, "plain"]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps({"id": id, "prompt": "hello"}) + "\n" for id in ids))
    assert batch("some.jsonl", "--out-dir", "texts").code == 0
    results = objects((tmp_path / "texts" / "results.jsonl").read_bytes())
    assert [result["id"] for result in results] == ids
    files = sorted((tmp_path / "texts").glob("*.txt"))
    assert len(files) == 3
    assert {file.read_text() for file in files} == {results[0]["text"]}
    assert (tmp_path / "texts" / "plain.txt").exists()
    assert not list(tmp_path.parent.glob("x*"))


def test_columns_templates_folders_and_shards(batch: Lookahead, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with (folder / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text", "lang"], ["a", "hello\nworld", "de"], ["b", "ok", "fr"]])
    filled = objects(batch("in", "--template", "{lang}: {text}").stdout)
    column = objects(batch("in/table.csv", "--column", "text").stdout)
    assert [result["id"] for result in filled] == [result["id"] for result in column] == ["a", "b"]
    assert filled[0]["prompt_tokens"] > column[0]["prompt_tokens"]
    (folder / "one.txt").write_text("hello\nworld")
    both = [objects(batch("in", "--column", "text", "--shard", shard).stdout) for shard in ("1/2", "2/2")]
    assert sorted(result["id"] for part in both for result in part) == sorted(
        ["a", "b", "in/one.txt:1", "in/one.txt:2"]
    )


def test_more_memory_than_there_is_fails_alone(batch: Lookahead, prompts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def bytes_for(self: LeanBatchRunner, tokens: int) -> int:
        sizes.append(tokens)
        return 10**18 if tokens > 40 else 1

    monkeypatch.setattr(LeanBatchRunner, "bytes_for", bytes_for)
    outcome = batch(prompts)
    assert outcome.code == 1
    failed = [result for result in objects(outcome.stdout) if "error" in result]
    assert 0 < len(failed) < len(PROMPTS)
    assert all("KV cache" in result["error"] and "GB" in result["error"] for result in failed)


def test_as_many_at_a_time_as_there_is_memory_for(
    batch: Lookahead, prompts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once: list[int] = []
    run = LeanBatchRunner.run

    def watched(self: LeanBatchRunner, *arguments: Any) -> Any:
        at_once.append(len(self.caches))
        return run(self, *arguments)

    monkeypatch.setattr(LeanBatchRunner, "run", watched)
    monkeypatch.setattr("lookahead_cli.batch.engine.free_memory", lambda _: 100.0)
    monkeypatch.setattr(LeanBatchRunner, "bytes_for", lambda *_: 13)
    assert len(objects(batch(prompts, "--batch-size", "8").stdout)) == len(PROMPTS)
    assert max(at_once) == 3  # 40 % of 100 bytes


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_no_records_is_no_error(batch: Lookahead, content: bytes) -> None:
    outcome = batch(stdin=content)
    assert outcome.code == 0
    assert outcome.stdout == b""
    assert "there were no records in the input" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], ["there is no input"]),
        (["missing.txt"], ["missing.txt", "no such file"]),
        (["prompts.txt", "--batch-size", "0"], ["option --batch-size", '"0" is not allowed']),
        (["prompts.txt", "--engine", "rey"], ["option --engine", 'did you mean "ray"']),
        (["prompts.txt", "--ray-cores", "2"], ["option --ray-cores", "--engine ray"]),
        (["prompts.txt", "--shard", "3/2"], ["option --shard"]),
        (["prompts.txt", "--template", "no field"], ["option --template"]),
        (["prompts.txt", "--column", "x"], ["option --column"]),
        (["prompts.txt", "--format", "xml"], ["option --format"]),
        (["prompts.txt", "--resume"], ["option --resume", "--output"]),
        (["prompts.txt", "-o", "missing/out.jsonl"], ["missing/out.jsonl"]),
        (["prompts.txt", "-t", "hot"], ["option --temperature"]),
    ],
)
def test_wrong_use_is_one_sentence(batch: Lookahead, prompts: str, arguments: list[str], said: list[str]) -> None:
    outcome = batch(*arguments)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert all(part in outcome.stderr for part in said), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_what_prompts_begin_with_in_common_is_read_once(
    batch: Lookahead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    run = LeanBatchRunner.run

    def watched(self: LeanBatchRunner, chunks: Any, steps: Any) -> Any:
        read.append(sum(len(chunk.tokens) for chunk in chunks))
        return run(self, chunks, steps)

    monkeypatch.setattr(LeanBatchRunner, "run", watched)
    (tmp_path / "words.txt").write_text("\n".join(["ok", "hello", "the", "ahead", "world", "end"]))
    asked = ["words.txt", "--template", "look ahead and return the end of this: {text}", "--no-stats"]
    shared = batch(*asked, "--batch-size", "2")
    once, prompts = sum(read), sum(result["prompt_tokens"] for result in objects(shared.stdout))
    assert once < prompts / 2
    monkeypatch.setattr(LeanBatchRunner, "shares_beginnings", False)
    read.clear()
    assert batch(*asked, "--batch-size", "2").stdout == shared.stdout
    assert sum(read) == prompts - 6
