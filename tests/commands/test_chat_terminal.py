"""`lookahead chat` in a real pseudo-terminal: what somebody who talks with it sees."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from tests.commands.screens import Screen
from tests.letters import save_letters

CTRL_C, CTRL_D, ENTER, ALT_ENTER, UP = "\x03", "\x04", "\r", "\x1b\r", "\x1b[A"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_letters(tmp_path_factory.mktemp("models") / "letters", context=4096))


@pytest.fixture
def env(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    # The screen of the test does not answer when it is asked where its cursor is.
    return {**env, "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(tmp_path / "state")}


class Conversation(Screen):
    """A chat in a terminal."""

    def say(self, text: str, until: str) -> str:
        """Type a line and wait for what is to come; what the screen showed since."""
        self.process.send(text + ENTER)
        self.wait_for(until)
        return str(self.process.before + self.process.after)

    def answer(self, text: str) -> str:
        """The answer to a message: the letters before the line with its numbers."""
        self.say(text, r"tokens per step[^\r\n]*")
        lines = [row for row in self.all_rows if row]
        return next(row for row in reversed(lines) if "tokens per step" not in row)


def chat(model: str, env: dict[str, str], *more: str) -> Conversation:
    screen = Conversation("chat", "-m", model, "--dtype", "float32", "-n", "8", *more, env=env)
    screen.wait_for("Ctrl-D leaves")
    screen.wait_for(">>>")
    return screen


def test_three_turns_retry_stats_and_leaving(letters: str, env: dict[str, str]) -> None:
    screen = chat(letters, env)
    answers = [screen.answer(said) for said in ("hello", "and now?", "go on")]
    assert all(len(answer) == 8 for answer in answers)
    screen.say("/stats", "not read again")
    assert any("of them new" in row for row in screen.rows)
    assert any("3 turns" in row for row in screen.rows)
    again = screen.answer("/retry")
    assert again == answers[2], "at temperature 0"
    assert any("the answer is the same each time" in row for row in screen.all_rows)
    screen.say("/set temperature 1.5", "temperature = 1.5")
    assert screen.answer("/retry") != again
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(letters: str, env: dict[str, str]) -> None:
    screen = chat(letters, env, "-n", "3500", "--strategy", "greedy")
    screen.process.send("hello" + ENTER)
    screen.wait_for(r"[^\x1b\s]{30}")
    screen.process.send(CTRL_C)
    screen.wait_for("interrupted · ")
    screen.wait_for(">>>")
    screen.say("/set max_new_tokens 8", "max_new_tokens = 8")
    screen.answer("more")
    screen.say("/stats", "not read again")
    new = next(int(found.group(1)) for row in screen.rows if (found := re.search(r"(\d+) of them new", row)))
    assert new < 40, "what was said before it was stopped is not read again"
    screen.process.send("/exit" + ENTER)
    assert screen.wait_for_end() == 0


def test_what_is_typed_during_an_answer_is_not_shown_in_it_but_obeyed_after_it(
    letters: str, env: dict[str, str]
) -> None:
    screen = chat(letters, env, "-n", "1500", "--strategy", "greedy")
    screen.process.send("hello" + ENTER)
    screen.wait_for(r"[^\x1b\s]{30}")
    screen.process.send("/set max_new_tokens 3000" + ENTER)
    screen.wait_for("max_new_tokens = 3000")
    answer, _, later = "\n".join(screen.all_rows).partition("1500 tokens · ")
    assert "/set" not in answer
    assert later.count(">>> /set max_new_tokens 3000") == 1
    screen.process.send("hello" + ENTER)
    screen.wait_for(r"[^\x1b\s]{30}")
    screen.process.send(CTRL_C)
    screen.wait_for("interrupted · ")
    assert not any("^C" in row for row in screen.all_rows)
    screen.wait_for(">>>")
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0


def test_ctrl_c_at_the_prompt_says_how_to_leave(letters: str, env: dict[str, str]) -> None:
    screen = chat(letters, env)
    screen.process.send("half a mess" + CTRL_C)
    screen.wait_for("/exit leaves")
    screen.wait_for(">>>")
    assert len(screen.answer("hello")) == 8
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0


def test_a_full_context_is_told(tmp_path: Path, env: dict[str, str]) -> None:
    screen = chat(str(save_letters(tmp_path / "short", context=150)), env)
    for number in range(4):
        screen.answer(f"a question with the number {number}")
    assert any("the context is full: the model is not shown the" in row for row in screen.all_rows)
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0


def test_a_conversation_that_goes_on_says_how_much_there_was(letters: str, env: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "talk.json")
    screen = chat(letters, env)
    screen.answer("hello")
    screen.say(f"/save {file}", "saved in")
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0
    later = chat(letters, env, "--load", file)
    assert any(row.startswith("1 turn from ") for row in later.rows)
    later.process.send(CTRL_D)
    assert later.wait_for_end() == 0


def test_mistakes_are_told_and_the_chat_goes_on(letters: str, env: dict[str, str]) -> None:
    screen = chat(letters, env)
    screen.say("/stast", 'did you mean "/stats"')
    screen.say("/set temperature hot", 'temperature: "hot" is not allowed')
    screen.say("/load nothing.json", "No such file")
    assert len(screen.answer("hello")) == 8
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0


def test_lines_are_edited_and_remembered_by_later_chats(letters: str, env: dict[str, str], tmp_path: Path) -> None:
    screen = chat(letters, env)
    first = screen.answer("hello")
    screen.process.send("one" + ALT_ENTER + "two")
    screen.wait_for("two")
    assert any(row.startswith("... two") for row in screen.rows)
    screen.process.send(ENTER)
    screen.wait_for("tokens per step")
    screen.process.send("/re\t\t")
    screen.wait_for("/reset")
    screen.process.send(CTRL_C)
    screen.wait_for("/exit leaves")
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0
    [file] = (tmp_path / "state").rglob("chat-history")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    later = chat(letters, env)
    later.process.send(UP + UP + UP)
    later.wait_for("hello")
    assert later.answer("") == first
    later.process.send(CTRL_D)
    assert later.wait_for_end() == 0


def test_nothing_is_kept_if_that_is_wished(letters: str, env: dict[str, str], tmp_path: Path) -> None:
    screen = chat(letters, env, "--no-history")
    screen.answer("hello")
    screen.process.send(CTRL_D)
    assert screen.wait_for_end() == 0
    assert not list((tmp_path / "state").rglob("chat-history"))
