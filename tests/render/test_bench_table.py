"""Tables of a contest: they fit, and say what was measured."""

from __future__ import annotations

import io
from typing import cast

import pytest
from rich.console import Console

from lookahead_cli.bench.contestants import Contestant, Entrant
from lookahead_cli.bench.step_times import MeasuredSteps
from lookahead_cli.bench.tally import speed_ups, standings
from lookahead_cli.profile import ModelSettings
from lookahead_cli.render.bench_table import bench_object, bench_tables, category_table, overall_table
from lookahead_cli.render.step_times_table import about_step_times, step_times_object, step_times_table
from tests.bench.made_runs import made_run

NAMES = ["greedy:temperature=0.7", "lookahead:k=16,init=model,temperature=0.7", "jacobi:k=4,temperature=0.7"]
RUNS = [
    made_run(name, prompt, category=f"question answering {prompt}", tokens=1000, steps=1000 // (1 + place),
             seconds=10 / (1 + place), drafted=1500 * place)
    for prompt in range(3) for place, name in enumerate(NAMES)
]  # fmt: skip


def contestants() -> list[Contestant]:
    first = Contestant(NAMES[0], cast(Entrant, None))
    return [first, *(Contestant(name, first.entrant, reference=first) for name in NAMES[1:])]


def printed(*tables: object, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(*tables)
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_tables_can_be_read_at_any_usual_width(width: int) -> None:
    entered, standing = contestants(), standings(RUNS)
    spreads = speed_ups(RUNS, {each.name: each.held_against.name for each in entered})
    for table in bench_tables(entered, standing, spreads):
        text = printed(table, width=width)
        assert "…" not in text, "nothing is cut off"
        assert max(map(len, text.splitlines())) <= width
    overall = printed(overall_table(entered, standing, spreads), width=width)
    for part in ("3 prompts", "2.00x", "2.00-2.00", "3/3", "33.3%"):
        assert part in overall, overall
    assert "median" not in printed(overall_table(entered, standing), width=width)
    assert "median" not in printed(category_table(entered, standing), width=width)


def test_the_object_has_the_same_numbers() -> None:
    entered, standing = contestants(), standings(RUNS)
    spreads = speed_ups(RUNS, {each.name: each.held_against.name for each in entered})
    greedy, twice, _ = bench_object(entered, standing, spreads)["strategies"]
    assert (greedy["reference"], greedy["speed"]) == (NAMES[0], 1.0)
    assert (twice["reference"], twice["prompts"], twice["runs"]) == (NAMES[0], 3, 3)
    assert twice["speed_spread"] == {"low": 2.0, "median": 2.0, "high": 2.0}
    assert twice["where_time_goes"]["ideal"] == twice["where_time_goes"]["measured"] == 2.0
    assert twice["where_time_goes"]["step_cost"] == 1.0
    assert set(twice["categories"]) == {f"question answering {prompt}" for prompt in range(3)}
    assert bench_object(entered, standing)["strategies"][1]["speed_spread"] is None


def test_step_times_as_table_and_object() -> None:
    measured = MeasuredSteps(256, {1: [0.010, 0.010, 0.020], 2: [0.015, 0.015, 0.015]})
    model = ModelSettings(runner="lean", dtype="float32", device="cpu", threads=2)
    found = step_times_object(measured, model)
    assert [(line["rows"], line["milliseconds"], line["relative"]) for line in found["rows"]] == [
        (1, 10.0, 1.0), (2, 15.0, 1.5),
    ]  # fmt: skip
    assert found["rows"][0]["spread"] == {"low": 10.0, "high": 15.0}
    assert (found["text_tokens"], found["repeats"], found["runner"]) == (256, 3, "lean")
    assert "10.00-15.00" in printed(step_times_table(measured, model), width=80)
    assert "lean runner, float32, cpu, threads: 2" in about_step_times(measured, model)
