"""The words of the summary, and where colours come from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lookahead_cli.decoding.events import MODEL, Event, FinishReason, PrefillEvent, StepEvent
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.profile import DecodingSettings
from lookahead_cli.render.palette import MONO
from lookahead_cli.render.summary import counts, ending, legend, speeds
from tests.render.themed import themed

STEPS = [
    StepEvent((1,), (MODEL,), ("a",), drafted_by={"jacobi": 4}, seconds=0.5),
    StepEvent((2, 3, 4), ("jacobi", "jacobi", MODEL), ("b", "c", "d"), drafted_by={"jacobi": 4}, seconds=0.5),
]


def generation(*steps: StepEvent, prefill: int = 20, finish_reason: FinishReason = "length") -> Generation:
    events: list[Event] = [
        PrefillEvent(prefill, 0.25 if prefill else 0.0),
        *steps[:-1],
        replace(steps[-1], finish_reason=finish_reason),
    ]
    made = Generation([0] * (prefill + 1), iter(events))
    list(made)
    return made


def test_counts_and_speeds_are_those_of_the_events() -> None:
    made = generation(*STEPS)
    assert counts(made) == ["4 tokens in 2 steps", "2.00 tokens per step", "2 of 8 guesses accepted (25.0%)"]
    assert speeds(made) == ["prefill 80 tokens/s", "decode 4.0 tokens/s", "first token after 0.75 s"]


def test_what_did_not_happen_is_left_out() -> None:
    made = generation(replace(STEPS[0], drafted_by={}), prefill=0)
    assert counts(made) == ["1 token in 1 step", "1.00 tokens per step"]
    assert speeds(made) == ["decode 2.0 tokens/s", "first token after 0.50 s"]


@pytest.mark.parametrize(
    ("finish_reason", "said"),
    [
        ("eos", "the model ended the text"),
        ("stop", "stop string"),
        ("length", "max_new_tokens reached"),
        ("context", "context full"),
    ],
)
def test_the_reason_of_the_end_is_said(finish_reason: FinishReason, said: str) -> None:
    made = generation(*STEPS, finish_reason=finish_reason)
    assert ending(made, DecodingSettings(), None) == [said]
    assert ending(made, DecodingSettings(), "interrupted") == ["interrupted"]
    assert ending(made, DecodingSettings(temperature=0.8, seed=7), None) == [said, "seed 7"]


def test_the_legend_names_the_drafters_that_had_guesses_accepted() -> None:
    said = legend(themed("default"), generation(*STEPS))
    assert said.plain == "accepted guesses: ■ jacobi · ■ the model's own token"
    assert legend(themed("default"), generation(STEPS[0])).plain == "■ the model's own token"


def test_without_colours_the_legend_marks_names() -> None:
    console = themed(MONO)
    with console.capture() as captured:
        console.print(legend(console, generation(*STEPS)))
    assert "\x1b[1;3;4mjacobi\x1b[0m" in captured.get()
