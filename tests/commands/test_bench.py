"""`lookahead bench` as its user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookahead_cli.session import Generation, Session
from tests.commands.conftest import Lookahead


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    file = tmp_path / "prompts.jsonl"
    lines = [{"prompt": "hello world", "category": "a"}, {"turns": ["def", "x"], "category": "b"}, {"prompt": "hello"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def test_strategies_are_compared_on_all_prompts(lookahead: Lookahead, llama_folder: str, prompts: str) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "30"]
    contest = ["--with", "greedy", "--with", "lookahead:k=8", "--with", "lookahead:drafters=copies+successors,k=4"]
    outcome = lookahead(*asked, *contest, "--json")
    assert outcome.code == 0, outcome.stderr
    greedy, eight, four = json.loads(outcome.stdout)["strategies"]
    assert greedy["tokens_per_step"] == 1.0
    assert greedy["speed"] == 1.0
    assert greedy["acceptance_rate"] is None
    for entry in (greedy, eight, four):
        assert entry["prompts"] == entry["same_tokens"] == 3
        assert entry["tokens"] == greedy["tokens"]
        assert set(entry["categories"]) == {"a", "b", "all"}
        assert entry["tokens"] == sum(part["tokens"] for part in entry["categories"].values())
        assert 0 <= entry["overhead"] < 1
    assert 0 < four["drafted_per_step"] <= 4
    table = lookahead(*asked, *contest)
    assert table.code == 0
    assert "accepted" in table.text
    assert "lookahead:k=8" in table.text
    assert "\x1b" not in table.text


def test_a_fresh_start_knows_nothing_of_the_prompts_before(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "same.txt").write_text("hello world\n" * 3)
    asked = ["bench", "--prompts", "same.txt", "-m", llama_folder, "-n", "40", "--with", "lookahead:k=8", "--json"]
    learned = json.loads(lookahead(*asked).stdout)["strategies"][0]
    fresh = json.loads(lookahead(*asked, "--fresh").stdout)["strategies"][0]
    assert fresh["steps"] % 3 == 0, "each prompt takes the same number of steps"
    assert learned["steps"] < fresh["steps"]
    assert not (tmp_path / "cache" / "knowledge").exists(), "measuring leaves nothing behind of what was said"


def test_a_limit_and_the_default_contest(lookahead: Lookahead, llama_folder: str, prompts: str) -> None:
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, "-n", "5", "--limit", "2", "--json")
    entries = json.loads(outcome.stdout)["strategies"]
    assert [entry["name"] for entry in entries] == ["greedy", "lookahead"]
    assert entries[0]["prompts"] == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--with", "lookahed"], ['"lookahed" is no strategy', 'did you mean "lookahead"']),
        (["--with", "lookahead:k"], ["option --with lookahead:k", "key=value"]),
        (["--with", "lookahead:strategy=greedy"], ["strategy is set already"]),
        (["--with", "lookahead:k=0"], ["option --with lookahead:k=0", "k"]),
        (["--with", "lookahead:kk=3"], ["kk makes no difference to lookahead", 'did you mean "k"']),
        (["--with", "lookahead:drafters=copy"], ["drafters", "copies"]),
        (["--prompts", "missing.txt"], ["missing.txt cannot be read"]),
    ],
)
def test_bad_input_is_one_sentence(
    lookahead: Lookahead, llama_folder: str, prompts: str, more: list[str], said: list[str]
) -> None:
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, *more)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert all(part in outcome.stderr for part in said), outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_prompt_that_does_not_fit_ends_the_contest_with_what_there_is(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("hello\n" + "hello " * 400 + "\nhello\n")
    outcome = lookahead("bench", "--prompts", "long.txt", "-m", llama_folder, "-n", "5", "--json")
    assert outcome.code == 2
    assert "long.txt, line 2: the prompt has" in outcome.stderr
    assert "leaves no room in the context" in outcome.stderr
    assert "this is what 1 of 3 prompts came to" in outcome.stderr
    assert {entry["prompts"] for entry in json.loads(outcome.stdout)["strategies"]} == {1}


def test_ctrl_c_shows_what_there_is(
    lookahead: Lookahead, llama_folder: str, prompts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generations = []

    def generate(session: Session, prompt: str) -> Generation:
        generations.append(prompt)
        if len(generations) == 2 + 3:  # two to warm up, two for the first prompt: in the middle of the second
            raise KeyboardInterrupt
        return original(session, prompt)

    original = Session.generate
    monkeypatch.setattr(Session, "generate", generate)
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, "-n", "5")
    assert outcome.code == 130
    assert "this is what 1 of 3 prompts came to" in outcome.stderr
    assert "1/1" in outcome.text


def test_a_random_seed_is_the_same_for_all(lookahead: Lookahead, llama_folder: str, prompts: str) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "20", "-t", "1.5", "--seed", "random", "--json"]
    entries = json.loads(lookahead(*asked).stdout)["strategies"]
    assert [entry["same_tokens"] for entry in entries] == [3, 3]
