"""Contestants are what their names say."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from transformers import LlamaForCausalLM

from lookahead_cli.bench.contestants import Contestant, enter
from lookahead_cli.bench.entries import read_entries
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.layers import load_settings
from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.progress import Progress
from lookahead_cli.session import open_session
from tests.tiny_models import save_tiny_llama

TOKENS = 40


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama whose guesses transformers takes however unsure it is of them."""
    folder = save_tiny_llama(tmp_path_factory.mktemp("models") / "llama")
    set_generation(folder, assistant_confidence_threshold=0.0)
    return folder


def set_generation(folder: Path, **settings: Any) -> None:
    """Write into the model's own settings for generation."""
    file = folder / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))


def entered(folder: Path, *names: str, apart: bool = False, **more: Any) -> list[Contestant]:
    settings = load_settings(source=str(folder), **{"dtype": "float32", "max_new_tokens": TOKENS, **more})
    return enter(open_session(settings), read_entries(names, settings), apart=apart)


def finished(contestant: Contestant) -> Generation:
    generation = contestant.entrant.generate("hello")
    for _ in generation:
        pass
    return generation


def test_an_assistant_of_transformers_makes_as_many_guesses_as_k_says(llama: Path) -> None:
    names = [f"transformers-assisted:k={k}" for k in (3, 1)]
    greedy, *assisted = entered(llama, "greedy", *names, draft_model=str(llama))
    for contestant, k in zip(assisted, (3, 1), strict=True):
        generation = finished(contestant)
        assert generation.token_ids == finished(greedy).token_ids
        assert [len(step.token_ids) for step in generation.steps[:-1]] == [k + 1] * (TOKENS // (k + 1) - 1)


@pytest.mark.parametrize("apart", [False, True])
def test_transformers_works_in_a_thread_only_in_a_race_and_never_in_vain(
    llama: Path, monkeypatch: pytest.MonkeyPatch, apart: bool
) -> None:
    in_main_thread: list[bool] = []
    forward = LlamaForCausalLM.forward

    def noted(*given: Any, **more: Any) -> Any:
        in_main_thread.append(threading.current_thread() is threading.main_thread())
        return forward(*given, **more)

    whole = finished(entered(llama, "greedy")[0]).text
    middle = len(whole) // 2
    names = ["greedy", "transformers"]
    (greedy, other) = entered(llama, *names, apart=apart, stop=[whole[middle : middle + 3]])
    expected = finished(greedy)
    monkeypatch.setattr(LlamaForCausalLM, "forward", noted)
    generation = finished(other)
    assert (generation.text, generation.finish_reason) == (expected.text, "stop")
    assert in_main_thread == [not apart] * len(generation.steps)


def test_risks_taken_with_the_model_are_not_extended_to_the_assistant(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = save_tiny_llama(tmp_path / "draft", seed=1)
    profile = tmp_path / "risky.toml"
    profile.write_text('[model]\nallow = ["pickle"]\n')
    allowed: dict[Path, frozenset[str]] = {}

    def noted(folder: Path, wish: Wish, progress: Progress) -> LoadedModel:
        allowed[folder] = wish.allow
        return load(folder, wish, progress)

    monkeypatch.setattr("lookahead_cli.bench.contestants.load", noted)
    entered(llama, "transformers-assisted", profile=str(profile), draft_model=str(draft))
    assert allowed == {llama: frozenset({"pickle"}), draft: frozenset()}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_where_rows_depend_on_each_other_guesses_may_change_tokens(llama: Path, dtype: str) -> None:
    lookahead, greedy = entered(llama, "lookahead", "greedy", dtype=dtype, runner="transformers")
    assert greedy.exempt == ""
    assert ("near ties" in lookahead.exempt) == (dtype == "bfloat16")
    assert lookahead.held_against is (greedy if dtype == "bfloat16" else lookahead)
