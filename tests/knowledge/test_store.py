"""What is kept between runs: numbers, by model, never half written."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
import torch

import lookahead_cli as lookahead
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.knowledge.store import SHIPPED_RATES, rates_file, read_rates, write_rates
from tests.tiny_models import save_tiny_llama

MACHINE = f"cpu float32 {torch.get_num_threads()} {torch.__version__}"
SECRET = "xylophone zebra quartz"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))
    return save_tiny_llama(tmp_path / "llama")


def kept_files(tmp_path: Path) -> list[Path]:
    """Files in the cache, but for what was found out about the machine."""
    files = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    return [file for file in files if file.name != "exactness.json"]


def test_rates_are_kept_and_read_by_the_next_session(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookahead_cli.knowledge.store.SHIPPED_RATES", model / "none")
    settings = lookahead.load_settings(source=str(model), k=8, max_new_tokens=20)
    file = rates_file(knowledge_folder(model), sampled=False)
    list(lookahead.open_session(settings).generate(SECRET))
    first = json.loads(file.read_text())
    list(lookahead.open_session(settings).generate(SECRET))
    second = json.loads(file.read_text())
    assert sum(trials for _, trials in second["rates"]["successors/1"].values()) > sum(
        trials for _, trials in first["rates"]["successors/1"].values()
    )


def test_only_numbers_are_kept_by_kind_of_guess(model: Path, tmp_path: Path) -> None:
    list(lookahead.open_session(lookahead.load_settings(source=str(model), k=8, max_new_tokens=20)).generate(SECRET))
    kept = kept_files(tmp_path)
    assert [file.name for file in kept] == [rates_file(tmp_path, sampled=False).name]
    stored = json.loads(kept[0].read_text())
    numbers = [number for part in stored.values() for value in part.values() for number in flatten(value)]
    assert numbers
    assert all(isinstance(number, (int, float)) for number in numbers)
    for drafter, rates in stored["rates"].items():
        assert all(int(kind) < 1000 for kind in rates), drafter


def flatten(value: object) -> list[object]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in flatten(part)]
    return [number for part in value for number in flatten(part)] if isinstance(value, list) else [value]


def test_greedy_decoding_keeps_nothing(model: Path, tmp_path: Path) -> None:
    settings = lookahead.load_settings("greedy", source=str(model), max_new_tokens=5)
    list(lookahead.open_session(settings).generate(SECRET))
    assert kept_files(tmp_path) == []


def test_damaged_rates_are_as_good_as_none(model: Path) -> None:
    settings = lookahead.load_settings(source=str(model), k=8, max_new_tokens=20)
    file = rates_file(knowledge_folder(model), sampled=False)
    file.parent.mkdir(parents=True)
    empty: dict[str, object] = {"rates": {}, "silent": {}, "weights": {}}
    for damaged in (
        "{", "[]", '{"rates": 5}', "[" * 100_000,
        json.dumps({**empty, "rates": {"copies": {"0": "x"}}}),
        json.dumps({**empty, "times": {MACHINE: {"0": 0.0}}}),
        json.dumps({**empty, "times": 3}),
    ):  # fmt: skip
        file.write_text(damaged)
        generation = lookahead.open_session(settings).generate(SECRET)
        list(generation)
        assert generation.statistics.tokens > 0


def test_rates_of_other_drafters_stay(tmp_path: Path) -> None:
    file = tmp_path / "new" / "rates.json"
    write_rates(file, {"rates": {"a": {"1": [1, 2]}}, "silent": {}, "weights": {}})
    write_rates(file, {"rates": {"b": {"1": [2, 3]}}, "silent": {}, "weights": {}})
    assert set((read_rates(file) or {})["rates"]) == {"a", "b"}
    assert list(file.parent.iterdir()) == [file]


def test_another_model_at_the_same_place_starts_anew(model: Path) -> None:
    before = knowledge_folder(model)
    assert before == knowledge_folder(model)
    save_tiny_llama(model)
    assert knowledge_folder(model) != before


def test_a_cache_that_cannot_be_written_to_costs_nothing(model: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    generation = lookahead.open_session(lookahead.load_settings(source=str(model), max_new_tokens=5)).generate("x")
    list(generation)
    assert generation.statistics.tokens == 5


def test_the_shipped_rates_are_rates() -> None:
    rates = read_rates(SHIPPED_RATES)
    assert rates is not None
    assert {"copies", "successors/1", "runner-ups", "n-grams", "jacobi"} <= set(rates["rates"])


def test_a_generation_that_is_left_early_was_not_in_vain(model: Path) -> None:
    file = rates_file(knowledge_folder(model), sampled=False)
    events = iter(lookahead.open_session(lookahead.load_settings(source=str(model), k=8)).generate(SECRET))
    for _ in range(4):
        next(events)
    assert not file.exists()
    del events
    gc.collect()
    assert read_rates(file) is not None


def test_a_link_to_nowhere_in_the_models_folder_is_passed_over(model: Path) -> None:
    (model / "extra.json").symlink_to(model / "missing.json")
    assert knowledge_folder(model) == knowledge_folder(model)
