"""Strategy speculative from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.conftest import Lookahead
from tests.tiny_models import save_tiny_llama


@pytest.fixture
def small_folder(tmp_path: Path) -> str:
    return str(save_tiny_llama(tmp_path / "small", seed=7, num_hidden_layers=1))


def test_generate_with_a_draft_model_says_what_it_says_without(
    lookahead: Lookahead, llama_folder: str, small_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["generate", "-m", llama_folder, "--raw", "-p", "hello", "-n", "30", "--json"]
    greedy = json.loads(lookahead(*asked, "--strategy", "greedy").stdout)
    for draft_model in (small_folder, llama_folder):
        outcome = lookahead(*asked, "--strategy", "speculative", "--draft-model", draft_model, "-k", "4")
        assert outcome.code == 0, outcome.stderr
        result = json.loads(outcome.stdout)
        assert result["token_ids"] == greedy["token_ids"]
        assert list(result["stats"]["drafters"]) == ["draft-model"]
        assert result["settings"]["draft"]["source"] == draft_model
    assert result["stats"]["acceptance_rate"] == 1.0
    monkeypatch.setenv("LOOKAHEAD_DRAFT_MODEL", small_folder)
    text = lookahead(*asked[:-1], "--strategy", "speculative").text
    assert text == greedy["text"]


def test_bench_measures_it_beside_the_others(
    lookahead: Lookahead, llama_folder: str, small_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "prompts.txt").write_text("hello world\ndef\n")
    asked = ["bench", "--prompts", "prompts.txt", "-m", llama_folder, "--draft-model", small_folder, "-n", "20"]
    contest = ["--with", "greedy", "--with", "speculative:k=3", "--with", "speculative"]
    for more in ([], ["--fresh"]):
        outcome = lookahead(*asked, *contest, *more, "--json")
        assert outcome.code == 0, outcome.stderr
        greedy, three, auto = json.loads(outcome.stdout)["strategies"]
        assert greedy["same_tokens"] == three["same_tokens"] == auto["same_tokens"] == 2
        assert 0 < three["drafted_per_step"] <= 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "-p", "x", "--strategy", "speculative"], ["none is named", "--draft-model"]),
        (["generate", "-p", "x", "--strategy", "speculative", "--draft-model", "./none"], ["./none", "no such file"]),
        (["bench", "--prompts", "prompts.txt", "--with", "speculative"], ["none is named", "--draft-model"]),
    ],
    ids=["generate", "nowhere", "bench"],
)
def test_a_draft_model_that_is_not_there_is_told_in_one_sentence(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path, arguments: list[str], said: list[str]
) -> None:
    (tmp_path / "prompts.txt").write_text("hello\n")
    outcome = lookahead(arguments[0], "-m", llama_folder, *arguments[1:])
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert len(outcome.stderr.strip().splitlines()) >= 1
    assert all(part in outcome.stderr.replace("\n", " ") for part in said), outcome.stderr
    assert "Traceback" not in outcome.stderr
