"""The Python API, as the package's docstring shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lookahead_cli as lookahead
from tests.parrot import PROMPT, save_parrot


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))


def test_a_session_yields_events_and_can_be_used_again(tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "parrot", "some text to say")
    settings = lookahead.load_settings("greedy", source=str(folder), template="raw", strategy="jacobi", k=3)
    session = lookahead.open_session(settings)
    for _ in range(2):
        generation = session.generate(PROMPT)
        events = list(generation)
        assert isinstance(events[0], lookahead.PrefillEvent)
        steps = [event for event in events if isinstance(event, lookahead.StepEvent)]
        assert "".join(step.text for step in steps) == generation.text == "some text to say"
        assert generation.finish_reason == "eos"
        assert generation.token_ids == [token for step in steps for token in step.token_ids]
        assert generation.statistics.accepted == sum(step.accepted for step in steps) > 0
        assert all(step.drafted <= 3 for step in steps)


def test_a_second_generation_stops_the_first_instead_of_spoiling_it(tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "parrot", "some text to say")
    session = lookahead.open_session(lookahead.load_settings(source=str(folder), template="raw", k=2))
    first, second = iter(session.generate(PROMPT)), session.generate(PROMPT)
    next(first)
    next(first)
    assert len(list(second)) > 2
    assert second.text == "some text to say"
    with pytest.raises(lookahead.LookaheadError, match="another generation"):
        next(first)


def test_mistakes_are_lookahead_errors() -> None:
    with pytest.raises(lookahead.LookaheadError, match='temprature is not a known key; did you mean "temperature"'):
        lookahead.load_settings(temprature=1)
    with pytest.raises(lookahead.LookaheadError, match="k: 0 is not allowed"):
        lookahead.load_settings(k=0)
    with pytest.raises(lookahead.LookaheadError, match='seed: "7" is not allowed'):
        lookahead.load_settings(seed="7")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lookahead.nothing


def test_every_public_name_is_there() -> None:
    for name in lookahead.__all__:
        assert getattr(lookahead, name)


@pytest.mark.parametrize("command", ["import lookahead_cli", "import lookahead_cli.app", "import lookahead_cli.layers"])
def test_torch_and_transformers_are_not_imported_before_they_are_needed(command: str) -> None:
    code = f"import sys; {command}; print(sorted({{'torch', 'transformers', 'numpy'}} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_sessions_that_share_a_model_do_not_spoil_each_other(tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "parrot", "some text to say")
    session = lookahead.open_session(lookahead.load_settings(source=str(folder), template="raw", k=2))
    other = session.with_decoding(session.settings.decoding)
    first = iter(session.generate(PROMPT))
    next(first)
    list(other.generate(PROMPT))
    with pytest.raises(lookahead.LookaheadError, match="another generation"):
        list(first)


def test_a_window_branch_without_its_pool_is_refused(tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "parrot", "some text to say")
    for settings in ({"strategy": "prompt-lookup"}, {"drafters": ["copies"]}):
        session = lookahead.open_session(
            lookahead.load_settings(source=str(folder), template="raw", window=3, **settings)
        )
        with pytest.raises(lookahead.LookaheadError, match=r'window: .*"n-grams" among its drafters'):
            session.generate(PROMPT)


@pytest.mark.parametrize("across", [True, False])
def test_what_one_prompt_taught_serves_the_next_unless_turned_off(across: bool, tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "parrot", "some text to say that does not repeat itself")
    settings = lookahead.load_settings(
        source=str(folder), template="raw", k=8, drafters=["copies"], across_prompts=across
    )
    session = lookahead.open_session(settings)
    steps = []
    for _ in range(2):
        generation = session.generate(PROMPT)
        list(generation)
        steps.append(generation.statistics.steps)
    assert (steps[1] < steps[0] / 2) == across
