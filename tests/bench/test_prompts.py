"""Files of prompts, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.bench.prompts import BenchPrompt, read_bench_prompts, spread
from lookahead_cli.errors import PromptError


def test_plain_lines_and_json_lines(tmp_path: Path) -> None:
    plain, lines = tmp_path / "a.txt", tmp_path / "a.jsonl"
    plain.write_text("one\n\n two \n")
    assert [prompt.text for prompt in read_bench_prompts(plain)] == ["one", " two "]
    lines.write_text('{"prompt": "p", "category": "c"}\n{"turns": ["first", "second"], "category": "d"}\n')
    assert read_bench_prompts(lines) == [BenchPrompt("p", "c"), BenchPrompt("first", "d")]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "holds no prompts"), (b"{\n", "line 1: not JSON"), (b'{"prompt": "x"}\n[]\n', "line 2: no prompt"),
     (b'{"turns": []}', "line 1: no prompt"),
     (b'{"prompt": "x", "category": "\\ud800"}', "line 1: half characters"),
     (b'{"prompt": 3}', "line 1: no prompt"), (b"\xff\xfe", "not UTF-8")],
)  # fmt: skip
def test_bad_files_say_where(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(PromptError, match=said):
        read_bench_prompts(file)
    with pytest.raises(PromptError, match="cannot be read"):
        read_bench_prompts(tmp_path / "missing")


def test_a_limit_takes_from_every_category_in_turn() -> None:
    prompts = [BenchPrompt(str(number), "abbbcc"[number % 6]) for number in range(12)]
    chosen = spread(prompts, 4)
    assert [prompt.text for prompt in chosen] == ["0", "1", "2", "4"]
    assert [int(prompt.text) for prompt in chosen] == sorted(int(prompt.text) for prompt in chosen)
    assert spread(prompts, 100) == prompts
