"""`lookahead chat` with somebody who types: what stops, what goes on, and that no conversation is lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lookahead_cli import session as sessions
from lookahead_cli.chat.talk import Talk
from lookahead_cli.commands import chat_loop
from tests.commands.conftest import Lookahead, Outcome
from tests.commands.test_chat import SHORT

Typed = Callable[..., Outcome]


@pytest.fixture
def typed(lookahead: Lookahead, letters_folder: str, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """A chat in which these lines are typed; what is no text is done between them."""

    def chat(*lines: str | Callable[[], None]) -> Outcome:
        def messages(*_: Any) -> Iterator[str]:
            for line in lines:
                if isinstance(line, str):
                    yield line
                else:
                    line()

        monkeypatch.setattr(chat_loop, "line_editor", lambda *_: None)
        monkeypatch.setattr(chat_loop, "typed_messages", messages)
        return lookahead("chat", "-m", letters_folder, *SHORT)

    return chat


def press_ctrl_c(*_: Any, **__: Any) -> Any:
    signal.raise_signal(signal.SIGINT)


def answers(outcome: Outcome) -> list[str]:
    assert outcome.code == 0, outcome.stderr
    return outcome.text.splitlines()


def test_ctrl_c_while_another_model_is_loaded_leaves_the_conversation(
    typed: Typed,
    tmp_path: Path,
    letters_folder: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "other.toml").write_text(f'[model]\nsource = "{letters_folder}"\ncontext_length = 300\n')
    asked = answers(typed("hello", "and now?"))

    def load_slowly() -> None:
        monkeypatch.setattr(sessions, "open_session", press_ctrl_c)

    outcome = typed("hello", load_slowly, "/profile ./other.toml", "and now?")
    assert answers(outcome) == asked
    assert "interrupted" in outcome.stderr


def test_ctrl_c_between_two_messages_means_nothing(typed: Typed) -> None:
    assert len(answers(typed("hello", press_ctrl_c, "and now?"))) == 2


def test_ctrl_c_while_an_answer_is_kept_leaves_no_half_turn(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    [first, again] = answers(typed("hello", "hello"))
    with monkeypatch.context() as patch:

        def interrupt_keeping() -> None:
            patch.setattr(Talk, "keep", press_twice)

        def press_twice(talk: Talk) -> None:
            patch.undo()
            press_ctrl_c()
            press_ctrl_c()

        outcome = typed("hello", interrupt_keeping, "what is lost", "hello")
    assert [answers(outcome)[0], answers(outcome)[-1]] == [first, again]


def test_the_old_answer_stays_where_another_one_was_interrupted(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def press_twice(talk: Talk) -> None:
        press_ctrl_c()
        press_ctrl_c()

    keep = Talk.keep
    outcome = typed(
        "hello",
        lambda: monkeypatch.setattr(Talk, "keep", press_twice),
        "/retry",
        lambda: monkeypatch.setattr(Talk, "keep", keep),
        "and now?",
    )
    expected = answers(typed("hello", "and now?"))
    assert [answers(outcome)[0], answers(outcome)[-1]] == expected


@pytest.mark.parametrize(("error", "code"), [(BrokenPipeError(), 141), (OSError(28, "No space left on device"), 1)])
def test_a_chat_whose_answers_nobody_would_see_ends(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, error: OSError, code: int
) -> None:
    monkeypatch.setattr("lookahead_cli.commands.output.discard_output", lambda: None)
    monkeypatch.setattr("lookahead_cli.program.discard_output", lambda: None)

    def fail(*_: Any) -> None:
        raise error

    def close() -> None:
        monkeypatch.setattr(sys.stdout, "write", fail)

    outcome = typed("hello", close, "more", lambda: pytest.fail("the chat went on"))
    assert outcome.code == code
    assert ("could not be written" in outcome.stderr) == (code == 1)


def test_half_characters_are_refused_as_a_system_text(typed: Typed) -> None:
    outcome = typed("/system a\udcff", "hello")
    assert len(answers(outcome)) == 1
    assert "not UTF-8 text" in outcome.stderr
