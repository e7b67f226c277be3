"""`lookahead bench` as its user sees it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from lookahead_cli.bench.prompts import DEFAULT_PROMPTS, read_bench_prompts
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.session import Session
from tests.commands.conftest import Lookahead
from tests.parrot import PROMPT, save_parrot
from tests.tiny_models import save_tiny_llama


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
        (["--with", "jacobi", "-k", "4,0"], ["option -k: 0 is not allowed"]),
        (["--with", "greedy", "--init", "model,random"], ["option --init: a list makes no difference to greedy"]),
        (["--temperature", "0,hot"], ['option --temperature: "hot" is not allowed']),
        (["--resume"], ["option --resume", "--output"]),
        (["-o", "missing/runs.jsonl"], ["option --output: missing/runs.jsonl cannot be written"]),
        (["--csv", "prompts.jsonl"], ["option --csv: prompts.jsonl is there already"]),
        (["-o", "runs.jsonl", "--csv", "../{here}/runs.jsonl"], ["options --output and --csv", "a file of its own"]),
        (["--plot", "a.pdf"], ["option --plot: a.pdf must end in .svg or .png"]),
        (["--step-times"], ["option --step-times", "leave --prompts out"]),
        (["--rounds", "0"], ["--rounds"]),
    ],
)
def test_bad_input_is_one_sentence(
    lookahead: Lookahead, llama_folder: str, prompts: str, more: list[str], said: list[str]
) -> None:
    named = [argument.format(here=Path(prompts).parent.name) for argument in more]
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, *named)
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


def test_a_first_prompt_that_does_not_fit_is_named(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\nx" + "x" * 600 + "\nhello\n")
    outcome = lookahead("bench", "--prompts", "long.txt", "-m", llama_folder, "-n", "5")
    assert outcome.code == 2
    assert "long.txt, line 2: the prompt has 6" in outcome.stderr, "all of it, not what the warm-up takes of it"


def test_only_drafters_are_joined_with_plus(lookahead: Lookahead, tmp_path: Path) -> None:
    model = str(save_parrot(tmp_path / "parrot", "we like C++ and C,, too"))
    (tmp_path / "prompts.txt").write_text(PROMPT)
    (tmp_path / "raw.toml").write_text('[prompt]\ntemplate = "raw"\n')
    asked = ["bench", "--prompts", "prompts.txt", "-m", model, "--profile", "raw.toml", "--with", "greedy:stop=C++"]
    outcome = lookahead(*asked, "-o", "runs.jsonl")
    assert outcome.code == 0, outcome.stderr
    _, run = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    assert run["finish_reason"] == "stop"
    assert run["statistics"]["tokens"] < len("we like C++ and")


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


def test_lists_are_crossed_and_every_temperature_has_its_reference(
    lookahead: Lookahead, llama_folder: str, prompts: str
) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "12", "--with", "greedy", "--with", "lookahead"]
    outcome = lookahead(*asked, "--k", "2,auto", "-t", "0,0.7", "--rounds", "2", "--json")
    assert outcome.code == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert (found["rounds"], found["complete"]) == (2, True)
    assert [(entry["name"], entry["reference"]) for entry in found["strategies"]] == [
        (name + temperature, "greedy:" + temperature.lstrip(","))
        for temperature in ("temperature=0", "temperature=0.7")
        for name in ("greedy:", "lookahead:k=2,", "lookahead:k=auto,")
    ]
    for entry in found["strategies"]:
        assert (entry["prompts"], entry["runs"], entry["same_tokens"]) == (3, 6, 6)
        split, spread = entry["where_time_goes"], entry["speed_spread"]
        assert spread["low"] <= spread["median"] <= spread["high"]
        assert split["measured"] == pytest.approx(entry["speed"])
        assert split["ideal"] / split["step_cost"] == pytest.approx(entry["speed"])


def test_one_value_holds_for_all_and_stays_out_of_the_names(
    lookahead: Lookahead, llama_folder: str, prompts: str
) -> None:
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, "-n", "12", "-k", "2", "--json")
    greedy, two = json.loads(outcome.stdout)["strategies"]
    assert (greedy["name"], two["name"]) == ("greedy", "lookahead")
    assert 0 < two["drafted_per_step"] <= 2


def test_prompts_of_our_own_are_the_default(lookahead: Lookahead, tmp_path: Path) -> None:
    shipped = read_bench_prompts(DEFAULT_PROMPTS)
    assert len(shipped) == len({prompt.text for prompt in shipped}) == 24
    assert Counter(Counter(prompt.category for prompt in shipped).values()) == {3: 8}, "three in each category"
    model = str(save_tiny_llama(tmp_path / "llama", max_position_embeddings=2048))
    outcome = lookahead("bench", "-m", model, "-n", "3", "--with", "greedy", "--limit", "8", "--json")
    assert outcome.code == 0, outcome.stderr
    (greedy,) = json.loads(outcome.stdout)["strategies"]
    assert set(greedy["categories"]) == {prompt.category for prompt in shipped}


def test_runs_are_saved_and_a_file_that_is_there_is_not_lost(
    lookahead: Lookahead, llama_folder: str, prompts: str, tmp_path: Path
) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "5", "-o", "runs.jsonl"]
    assert lookahead(*asked, "--csv", "runs.csv").code == 0
    header, *runs = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    assert header["contestants"] == ["greedy", "lookahead"]
    assert [(run["prompt"], run["contestant"]) for run in runs] == [
        (prompt, name) for prompt in range(3) for name in header["contestants"]
    ]
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 1 + len(runs)

    before = (tmp_path / "runs.jsonl").read_bytes()
    refused = lookahead(*asked)
    assert refused.code == 2
    assert "option --output: runs.jsonl is there already" in refused.stderr
    other = lookahead(*asked, "--resume", "--rounds", "2")
    assert other.code == 2
    assert "runs.jsonl was measured with rounds = 1, and now it is 2" in other.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: header["machine"]["threads"] + 1)
        elsewhere = lookahead(*asked, "--resume")
    assert elsewhere.code == 2
    assert "runs.jsonl was measured with machine.threads = " in elsewhere.stderr
    again = lookahead(*asked, "--resume", "--json")
    assert again.code == 0
    assert again.stderr == "note: 3 of 3 prompts were there already\n"
    assert json.loads(again.stdout)["strategies"][1]["tokens"] == sum(
        run["statistics"]["tokens"] for run in runs if run["contestant"] == "lookahead"
    )
    assert (tmp_path / "runs.jsonl").read_bytes() == before


def test_a_random_seed_is_drawn_once_and_told(
    lookahead: Lookahead, llama_folder: str, prompts: str, tmp_path: Path
) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "5", "-t", "0.9", "-o", "runs.jsonl"]
    assert lookahead(*asked, "--seed", "random").code == 0
    seed = json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])["settings"]["decoding"]["seed"]
    assert isinstance(seed, int)
    assert lookahead(*asked, "--seed", str(seed), "--resume").code == 0
    other = lookahead(*asked, "--seed", "random", "--resume")
    assert other.code == 2
    assert f"was measured with settings.decoding.seed = {seed}" in other.stderr


def test_what_could_not_begin_leaves_no_file(lookahead: Lookahead, prompts: str, tmp_path: Path) -> None:
    outcome = lookahead("bench", "--prompts", prompts, "-m", str(tmp_path / "no-model"), "-o", "runs.jsonl")
    assert outcome.code == 2
    assert not (tmp_path / "runs.jsonl").exists()


def test_a_contest_that_fails_saves_what_there_is(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("hello\n" + "hello " * 400 + "\n")
    asked = ["bench", "--prompts", "long.txt", "-m", llama_folder, "-n", "5", "-o", "a.jsonl", "--csv", "a.csv"]
    outcome = lookahead(*asked, "--plot", "a.svg")
    assert outcome.code == 2
    assert "this is what 1 of 2 prompts came to; --resume goes on from here" in outcome.stderr
    assert "where the time goes" in outcome.text
    for name in ("a.jsonl", "a.csv"):
        assert len((tmp_path / name).read_text().splitlines()) == 1 + 2
    assert "not measured" in (tmp_path / "a.svg").read_text()


def test_a_plot_is_drawn(lookahead: Lookahead, llama_folder: str, prompts: str, tmp_path: Path) -> None:
    asked = ["bench", "--prompts", prompts, "-m", llama_folder, "-n", "20", "--with", "greedy", "--with", "lookahead"]
    outcome = lookahead(*asked, "-k", "2,4,auto", "--plot", "a.svg")
    assert outcome.code == 0, outcome.stderr
    text = (tmp_path / "a.svg").read_text()
    assert "lookahead, k = auto" in text
    assert "not measured" not in text


def test_ctrl_c_while_step_times_are_measured_for_a_plot_cuts_no_contest_short(
    lookahead: Lookahead, llama_folder: str, prompts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lookahead_cli.bench.step_times.measure_steps", interrupted)
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, "-n", "5", "--plot", "a.svg", "--json")
    assert outcome.code == 130
    assert outcome.stderr == ""
    assert json.loads(outcome.stdout)["complete"] is True
    assert "not measured" in (tmp_path / "a.svg").read_text()


def test_without_matplotlib_a_sentence_says_how_to_get_it(
    lookahead: Lookahead, llama_folder: str, prompts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = lookahead("bench", "--prompts", prompts, "-m", llama_folder, "--plot", "a.svg")
    assert outcome.code == 2
    assert "pip install 'lookahead-cli[plot]'" in outcome.stderr
    assert not (tmp_path / "a.svg").exists()


def test_step_times_as_table_and_object(lookahead: Lookahead, llama_folder: str) -> None:
    table = lookahead("bench", "--step-times", "-m", llama_folder)
    assert table.code == 0, table.stderr
    assert "lean runner" in table.text
    assert "text of 65 tokens" in table.text
    assert "the context is short, so the text has 65 tokens" in table.stderr
    found = json.loads(lookahead("bench", "--step-times", "-m", llama_folder, "--json").stdout)
    assert [line["rows"] for line in found["rows"]] == [1, 2, 4, 8, 16, 32, 64]
    assert found["rows"][0]["relative"] == 1.0


def test_ctrl_c_while_step_times_are_measured_shows_what_there_is(
    lookahead: Lookahead, llama_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []

    def step(runner: LeanRunner, *arguments: Any) -> Tensor:
        passes.append(runner)
        if len(passes) == 3 * 7 + 2:  # one to warm up, two repeats
            raise KeyboardInterrupt
        return original(runner, *arguments)

    original = LeanRunner.step
    monkeypatch.setattr(LeanRunner, "step", step)
    outcome = lookahead("bench", "--step-times", "-m", llama_folder)
    assert outcome.code == 130
    assert "2 repeats" in outcome.text
