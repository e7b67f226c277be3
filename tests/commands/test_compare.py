"""`lookahead compare` as its user sees it in pipes and scripts; the terminal is in `test_compare_terminal.py`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli.bench.names import GUESSING
from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.greedy import Greedy
from lookahead_cli.decoding.likely import LikelyTokens
from lookahead_cli.decoding.strategies import STRATEGIES
from lookahead_cli.decoding.strategy import Room
from lookahead_cli.decoding.verified import VerifiedStep
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.session import Session
from tests.commands.conftest import Lookahead, Outcome
from tests.tiny_architectures import RUNNING_STATE, tiny_model
from tests.tiny_models import save_tiny_llama, tiny_tokenizer

ALL = [
    "--with", "greedy", "--with", "lookahead:k=8", "--with", "prompt-lookup", "--with", "jacobi:k=4,init=random",
    "--with", "jacobi:k=4,init=model", "--with", "transformers", "--with", "transformers-prompt-lookup",
]  # fmt: skip


@pytest.fixture
def asked(llama_folder: str) -> list[str]:
    return ["compare", "-m", llama_folder, "-n", "40", "--dtype", "float32"]


def compared(outcome: Outcome, code: int = 0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The object that `--json` printed, and its entries."""
    assert outcome.code == code, outcome.stderr
    result = json.loads(outcome.stdout)
    return result, result["strategies"]


def test_by_default_greedy_and_lookahead_give_the_same_tokens(lookahead: Lookahead, asked: list[str]) -> None:
    result, (greedy, ours) = compared(lookahead(*asked, "-p", "hello world", "--json"))
    assert (greedy["name"], ours["name"]) == ("greedy", "lookahead")
    assert result["identical"] is True
    assert ours["token_ids"] == greedy["token_ids"]
    assert ours["text"] == greedy["text"]
    assert len(ours["provenance"]) == len(ours["token_ids"]) == ours["stats"]["tokens"]
    assert greedy["stats"]["tokens_per_step"] == 1.0
    assert ours["steps_saved"] == greedy["stats"]["steps"] - ours["stats"]["steps"]
    assert greedy["reference"] == ours["reference"] == "greedy"
    assert ours["difference"] is None


def test_what_generate_says_is_what_compare_says(lookahead: Lookahead, asked: list[str]) -> None:
    _, (_, ours) = compared(lookahead(*asked, "-p", "hello world", "--json"))
    alone = lookahead("generate", *asked[1:], "-p", "hello world", "--json")
    assert json.loads(alone.stdout)["token_ids"] == ours["token_ids"]


@pytest.mark.parametrize("runner", ["lean", "transformers"])
def test_all_kinds_agree_in_float32(lookahead: Lookahead, asked: list[str], runner: str) -> None:
    outcome = lookahead(*asked, "-p", "def hello", *ALL, "--runner", runner, "--json")
    result, entries = compared(outcome)
    assert result["identical"] is True
    assert all(entry["token_ids"] == entries[0]["token_ids"] for entry in entries)
    assert all(entry["may_differ"] is None for entry in entries)
    by_name = {entry["name"]: entry for entry in entries}
    assert by_name["transformers"]["stats"]["tokens_per_step"] == 1.0
    assert by_name["transformers"]["stats"]["drafted"] == by_name["transformers"]["stats"]["accepted"] == 0
    assert by_name["transformers-prompt-lookup"]["stats"]["steps"] <= by_name["transformers"]["stats"]["steps"]


def test_under_temperature_the_same_seed_gives_the_same_tokens(lookahead: Lookahead, asked: list[str]) -> None:
    contest = ["--with", "greedy", "--with", "lookahead:k=8", "--with", "jacobi:k=3", "--with", "transformers"]
    hot = [*asked, "-p", "hello", "-t", "0.9", *contest, "--json"]
    result, (greedy, ours, jacobi, other) = compared(lookahead(*hot, "--seed", "5"))
    assert greedy["token_ids"] == ours["token_ids"] == jacobi["token_ids"]
    assert result["identical"] is True, "transformers may draw what it likes"
    assert "random" in other["may_differ"]
    _, again = compared(lookahead(*hot, "--seed", "6"))
    assert again[0]["token_ids"] != greedy["token_ids"]
    result, random = compared(lookahead(*hot, "--seed", "random"))
    assert result["identical"] is True
    assert random[0]["token_ids"] == random[1]["token_ids"]


def test_blocks_are_exact_with_enough_rounds_and_lossy_without(lookahead: Lookahead, asked: list[str]) -> None:
    names = ["greedy", "nar:k=1,rounds=1", "nar:k=5,rounds=5", "nar:k=8,rounds=1"]
    contest = [part for name in names for part in ("--with", name)]
    outcome = lookahead(*asked, "-p", "hello world", *contest, "--json")
    result, (greedy, single, converged, lossy) = compared(outcome)
    assert single["token_ids"] == converged["token_ids"] == greedy["token_ids"]
    assert lossy["token_ids"] != greedy["token_ids"]
    assert lossy["difference"]["position"] > 0, "the first token of a block is always the model's own"
    pairs = list(zip_longest(lossy["token_ids"], greedy["token_ids"]))
    assert lossy["difference"]["differing"] == sum(left != right for left, right in pairs)
    assert lossy["difference"]["length"] == len(pairs)
    assert "unverified" in lossy["may_differ"]
    assert lossy["stats"]["tokens_per_step"] > 4
    assert lossy["stats"]["acceptance_rate"] is None
    assert result["identical"] is True
    assert "nar is lossy" in outcome.stderr
    table = lookahead(*asked, "-p", "hello world", *contest)
    assert table.code == 0
    assert "as it may: it takes guesses unverified" in table.text
    assert f"{lossy['difference']['differing']} of {len(pairs)} tokens are others" in table.text


def test_a_reference_is_somebody_who_can_be_relied_on(lookahead: Lookahead, asked: list[str]) -> None:
    _, entries = compared(
        lookahead(*asked, "-p", "hello", "--with", "nar:k=8,rounds=1", "--with", "jacobi", "--with", "greedy", "--json")
    )
    assert [entry["reference"] for entry in entries] == ["jacobi"] * 3
    assert entries[1]["speed"] == 1.0


class Broken(Greedy):
    """Breaks the contract of strategies: it changes a token that has been committed."""

    def begin(self, prompt: Sequence[int], likely: LikelyTokens | None) -> None:
        self.until_mischief = 4

    def draft(self, committed: Sequence[int], room: Room) -> Draft:
        return Draft()

    def observe(self, step: VerifiedStep) -> None:
        self.until_mischief -= 1
        if self.until_mischief == 0:
            assert isinstance(step.committed, list)
            step.committed[-1] = 7


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, "broken", lambda *_: Broken())
    monkeypatch.setitem(GUESSING, "broken", ())


@pytest.mark.usefixtures("broken")
def test_a_broken_strategy_is_found_out(lookahead: Lookahead, asked: list[str]) -> None:
    contest = ["--with", "greedy", "--with", "lookahead", "--with", "broken"]
    result, (greedy, ours, broken) = compared(lookahead(*asked, "-p", "hello", *contest, "--json"), code=1)
    assert result["identical"] is False
    assert ours["same_tokens"] is True
    position = next(
        place
        for place, (left, right) in enumerate(zip(greedy["token_ids"], broken["token_ids"], strict=False))
        if left != right
    )
    difference = broken["difference"]
    assert difference["position"] == position
    assert difference["expected_id"] == greedy["token_ids"][position]
    assert difference["found_id"] == broken["token_ids"][position]
    assert difference["gap"] > 0
    table = lookahead(*asked, "-p", "hello", *contest)
    assert table.code == 1
    assert f"DIFFERENT: broken parts from greedy at token {position + 1} of the output" in table.text
    assert "two best logits there are" in table.text


@pytest.mark.usefixtures("broken")
def test_a_broken_strategy_is_found_out_on_many_prompts(lookahead: Lookahead, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("hello\nworld\n")
    contest = ["--prompts", "prompts.txt", "--with", "greedy", "--with", "broken", "--with", "lookahead"]
    result, (_, broken, ours) = compared(lookahead(*asked, *contest, "--json"), code=1)
    assert result["identical"] is False
    assert broken["same_tokens"] == 0
    assert broken["difference"]["prompt"] == "prompts.txt, line 1"
    assert broken["differing_tokens"] > broken["difference"]["differing"] > 0 == ours["differing_tokens"]
    assert ours["same_tokens"] == 2
    table = lookahead(*asked, *contest)
    assert table.code == 1
    assert "for prompts.txt, line 1" in table.text
    assert f"{broken['differing_tokens']} of 80 tokens of all prompts are others" in table.text
    assert "identical: lookahead gave exactly the tokens of greedy" in table.text


def test_many_prompts_by_category(lookahead: Lookahead, asked: list[str], tmp_path: Path) -> None:
    lines = [
        {"prompt": "hello", "category": "a"},
        {"prompt": "world", "category": "b"},
        {"prompt": "ok", "category": "a"},
    ]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result, entries = compared(lookahead(*asked, "--prompts", "prompts.jsonl", "--json"))
    assert result["identical"] is True
    assert [entry["prompts"] for entry in entries] == [3, 3]
    assert set(entries[1]["categories"]) == {"a", "b"}
    _, limited = compared(lookahead(*asked, "--prompts", "prompts.jsonl", "--limit", "2", "--json"))
    assert limited[0]["prompts"] == 2
    table = lookahead(*asked, "--prompts", "prompts.jsonl")
    assert table.code == 0
    assert "category" in table.text
    assert "\x1b" not in table.text
    assert table.stderr == ""


def test_whose_tokens_are_the_same_is_told_for_each_temperature(
    lookahead: Lookahead, asked: list[str], tmp_path: Path
) -> None:
    (tmp_path / "prompts.txt").write_text("hello\nworld\n")
    names = ["greedy", "jacobi", "greedy:temperature=1", "jacobi:temperature=1", "lookahead"]
    contest = [part for name in names for part in ("--with", name)]
    for prompts in (["-p", "hello"], ["--prompts", "prompts.txt"]):
        outcome = lookahead(*asked, *prompts, *contest)
        assert "identical: jacobi, lookahead gave exactly the tokens of greedy\n" in outcome.text
        assert "identical: jacobi:temperature=1 gave exactly the tokens of greedy:temperature=1\n" in outcome.text


def test_a_pipe_gets_a_plain_table(lookahead: Lookahead, asked: list[str]) -> None:
    outcome = lookahead(*asked, "-p", "hello world")
    assert outcome.code == 0
    assert "\x1b" not in outcome.text
    assert "│" not in outcome.text, "panels"
    assert "the same" in outcome.text
    assert "identical: lookahead gave exactly the tokens of greedy" in outcome.text
    assert "the model's own" in outcome.text


def test_a_prompt_may_come_from_a_pipe(lookahead: Lookahead, asked: list[str]) -> None:
    piped = compared(lookahead(*asked, "--json", stdin=b"hello world"))[1]
    typed = compared(lookahead(*asked, "-p", "hello world", "--json"))[1]
    assert piped[0]["token_ids"] == typed[0]["token_ids"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-p", "x", "--with", "lookahed"], ['"lookahed" is no strategy', 'did you mean "lookahead"']),
        (["-p", "x", "--with", "greedy:k=3"], ["k makes no difference to greedy"]),
        (["-p", "x", "--with", "nar:rounds=0"], ['rounds is "0"', "whole number from 1"]),
        (["-p", "x", "--with", "nar:rounds=" + "9" * 5000], ["rounds is", "whole number from 1 to 1024"]),
        (["-p", "x", "--with", "greedy:seed=random"], ["--seed random"]),
        (["-p", "x", "--with", "jacobi", "--with", "jacobi"], ["jacobi is there twice"]),
        (
            ["-p", "x", "--with", "lookahead", "--with", "lookahead:k=auto"],
            ["lookahead and lookahead:k=auto are the same"],
        ),
        (["-p", "x", "--prompts", "p.txt"], ["--prompts brings its own prompts"]),
        (["-p", "x", "--limit", "3"], ["--limit counts the prompts of a file"]),
        (["--prompts", "missing.txt"], ["missing.txt cannot be read"]),
        ([], ["there is no prompt"]),
    ],
)
def test_bad_input_is_one_sentence(lookahead: Lookahead, asked: list[str], more: list[str], said: list[str]) -> None:
    outcome = lookahead(*asked, *more)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert outcome.stderr.count("\n") == 1
    assert all(part in outcome.stderr for part in said), outcome.stderr


def test_ctrl_c_among_many_prompts_shows_what_there_is(
    lookahead: Lookahead, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts.txt").write_text("hello\nworld\nreturn\n")
    begun = 0
    whole = Session.generate

    def interrupted(self: Session, prompt: str) -> Any:
        nonlocal begun
        begun += prompt == "return"
        if begun == 1:
            raise KeyboardInterrupt
        return whole(self, prompt)

    monkeypatch.setattr(Session, "generate", interrupted)
    outcome = lookahead(*asked, "--prompts", "prompts.txt", "--json")
    assert outcome.code == 130
    assert [entry["prompts"] for entry in json.loads(outcome.stdout)["strategies"]] == [2, 2]
    assert "cut short, this is what 2 of 3 prompts came to" in outcome.stderr


@pytest.mark.parametrize("many", [False, True])
def test_what_was_said_before_the_machine_gave_out_is_not_lost(
    lookahead: Lookahead, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    (tmp_path / "prompts.txt").write_text("hello\nworld\n")
    steps = 0
    whole = LeanRunner.step

    def failing(self: LeanRunner, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 16 + (60 if many else 20):  # 16 to warm up
            raise RuntimeError("the device is gone")
        return whole(self, *arguments)

    monkeypatch.setattr(LeanRunner, "step", failing)
    put = ["--prompts", "prompts.txt"] if many else ["-p", "hello"]
    outcome = lookahead(*asked, "-n", "20", *put, "--with", "greedy", "--with", "jacobi:k=1,init=random", "--json")
    _, entries = compared(outcome, code=1)
    assert "the device is gone" in outcome.stderr
    if many:
        assert [entry["prompts"] for entry in entries] == [1, 1]
    else:
        assert "failed" in {entry["finish_reason"] for entry in entries}
        assert sum(len(entry["token_ids"]) for entry in entries) >= 19


@pytest.fixture(scope="session")
def random_draft(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another tiny random model with the same tokenizer."""
    return str(save_tiny_llama(tmp_path_factory.mktemp("models") / "draft", seed=1))


def test_a_draft_model_that_is_the_model_itself_is_always_right(
    lookahead: Lookahead, asked: list[str], llama_folder: str
) -> None:
    contest = ["--with", "greedy", "--with", "speculative:k=3", "--with", "transformers-assisted:k=3"]
    _, (greedy, ours, assisted) = compared(
        lookahead(*asked, "-p", "hello", "--draft-model", llama_folder, *contest, "--json")
    )
    assert ours["token_ids"] == assisted["token_ids"] == greedy["token_ids"]
    assert ours["stats"]["acceptance_rate"] == 1.0
    assert ours["stats"]["acceptance_by_depth"] == [1.0, 1.0, 1.0]
    assert ours["stats"]["draft_seconds"] > 0
    assert assisted["stats"]["tokens_per_step"] > 1.5


@pytest.mark.parametrize("temperature", ["0", "0.8"])
def test_a_draft_model_that_knows_nothing_changes_nothing(
    lookahead: Lookahead, asked: list[str], random_draft: str, temperature: str
) -> None:
    contest = ["--with", "greedy", "--with", "speculative:k=3", "--with", "lookahead"]
    hot = [*asked, "-p", "hello", "-t", temperature, "--draft-model", random_draft]
    _, (greedy, ours, _) = compared(lookahead(*hot, *contest, "--json"))
    assert ours["token_ids"] == greedy["token_ids"]
    assert ours["stats"]["acceptance_rate"] < 0.5


@pytest.mark.parametrize("name", ["speculative", "transformers-assisted"])
def test_whoever_needs_a_draft_model_says_so(lookahead: Lookahead, asked: list[str], name: str) -> None:
    outcome = lookahead(*asked, "-p", "x", "--with", name)
    assert outcome.code == 2
    assert "draft model" in outcome.stderr
    assert "--draft-model" in outcome.stderr


def test_what_transformers_refuses_is_told_in_one_sentence(lookahead: Lookahead, tmp_path: Path) -> None:
    folder = tmp_path / "mamba"
    tiny_model(RUNNING_STATE["mamba"]()).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    outcome = lookahead("compare", "-m", str(folder), "--raw", "-p", "hi", "--with", "transformers-prompt-lookup")
    assert outcome.code == 2
    assert f"lookahead: transformers' generate does not take {folder} this way" in outcome.stderr
    assert "leave it out of --with" in outcome.stderr


def test_transformers_does_not_follow_settings_that_nobody_else_follows(
    lookahead: Lookahead, asked: list[str], llama_folder: str, tmp_path: Path
) -> None:
    folder = tmp_path / "with-settings"
    shutil.copytree(llama_folder, folder)
    file = folder / "generation_config.json"
    own = {"num_beams": 3, "no_repeat_ngram_size": 2, "do_sample": True, "temperature": 0.6}
    file.write_text(json.dumps({**json.loads(file.read_text()), **own}))
    contest = ["--with", "greedy", "--with", "transformers", "--with", "transformers-prompt-lookup"]
    outcome = lookahead("compare", "-m", str(folder), *asked[3:], "-p", "hello world", *contest, "--json")
    assert compared(outcome)[0]["identical"] is True
    assert "no_repeat_ngram_size are not honoured" in outcome.stderr


@pytest.mark.parametrize("many", [False, True])
def test_a_machine_that_gives_out_does_not_cost_what_was_measured(
    lookahead: Lookahead, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    (tmp_path / "prompts.txt").write_text("hello\nworld\n")
    steps = []
    whole = Greedy.draft

    def gives_out(self: Greedy, committed: Sequence[int], room: Room) -> Draft:
        steps.append(room)
        if len(steps) == 8 + 40 + 5:  # warming up, and in the second prompt or further on in the only one
            raise RuntimeError("the device is lost")
        return whole(self, committed, room)

    monkeypatch.setattr(Greedy, "draft", gives_out)
    prompts = ["--prompts", "prompts.txt"] if many else ["-p", "hello"]
    outcome = lookahead(*asked[:3], "-n", "40" if many else "60", "--with", "greedy", *prompts, "--json")
    assert outcome.code == 1
    assert "the device is lost" in outcome.stderr
    (greedy,) = json.loads(outcome.stdout)["strategies"]
    assert (greedy["tokens"] if many else greedy["stats"]["tokens"]) == (40 if many else 44)


def test_no_speed_is_told_where_there_is_none(lookahead: Lookahead, asked: list[str]) -> None:
    contest = ["--with", "transformers", "--with", "lookahead"]
    outcome = lookahead(*asked[:3], "--dtype", "float32", "-n", "1", "-p", "hello", *contest)
    assert outcome.code == 0
    assert "times as fast" not in outcome.text, "the only token of transformers comes out of its prefill"
