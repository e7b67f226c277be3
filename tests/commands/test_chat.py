"""`lookahead chat` with a pipe for its input: answers on stdout, a line each, and nothing else."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.talk import Talk
from lookahead_cli.commands import chat_loop
from lookahead_cli.commands.chat_input import is_unfinished, piped_messages, unquoted
from lookahead_cli.commands.chat_loop import ChatLoop
from lookahead_cli.errors import PromptError
from lookahead_cli.layers import load_settings
from lookahead_cli.render.terminal import console
from lookahead_cli.session import Session, open_session
from tests.commands.conftest import Lookahead

SHORT = ("-n", "8", "--dtype", "float32")


def test_every_line_gets_an_answer_of_one_line(lookahead: Lookahead, letters_folder: str) -> None:
    outcome = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello\n\nand now?\n")
    assert outcome.code == 0
    lines = outcome.text.splitlines()
    assert [len(line) for line in lines] == [8, 8]
    alone = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello")
    assert alone.text == lines[0] + "\n"
    assert lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"and now?").text != lines[1] + "\n"


def test_conversations_are_saved_and_gone_on_with(lookahead: Lookahead, letters_folder: str, tmp_path: Path) -> None:
    both = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello\nand now?\n")
    saved = lookahead("chat", "-m", letters_folder, *SHORT, "-s", "", stdin=b"hello\n/save talk.json\n")
    assert saved.code == 0
    assert [message["role"] for message in json.loads(Path("talk.json").read_text())["messages"]] == [
        "user",
        "assistant",
    ]
    loaded = lookahead("chat", "-m", letters_folder, *SHORT, "--load", "talk.json", stdin=b"and now?\n")
    ordered = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"/load talk.json\nand now?\n/exit\nnever heard\n")
    assert loaded.text == ordered.text == both.text.splitlines()[1] + "\n"


def test_stats_say_how_little_was_read(lookahead: Lookahead, letters_folder: str) -> None:
    outcome = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello\nmore\n/stats\n")
    # <|im_end|> \n <|im_start|> user \n more <|im_end|> \n <|im_start|> assistant \n, and the last letter said.
    new = 2 + 6 + 4 + 2 + 11
    assert f"{new + 1} of them new" in outcome.stderr
    assert "2 turns" in outcome.stderr
    assert outcome.stderr.count("\n") < 10


def test_orders_change_the_conversation(lookahead: Lookahead, letters_folder: str) -> None:
    def say(*lines: str) -> list[str]:
        outcome = lookahead("chat", "-m", letters_folder, *SHORT, stdin="\n".join(lines).encode())
        assert outcome.code == 0, outcome.stderr
        return outcome.text.splitlines()

    [plain, second] = say("hello", "hello")
    assert say("hello", "/reset", "hello") == [plain, plain]
    assert say("hello", "/retry") == [plain, plain]
    [told] = say("/system be brief", "hello")
    assert told != plain
    assert say("/system be brief", "/system none", "hello") == [plain]
    assert say("/set max_new_tokens 3", "hello") == [plain[:3]]
    assert say("/set temperature 1", "hello", "/retry") != [plain, plain]
    assert say("//reset", "hello")[1] != second


def test_a_profile_brings_its_settings_and_flags_still_beat_it(
    lookahead: Lookahead, letters_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text('[decoding]\nmax_new_tokens = 3\nk = 2\n[prompt]\nsystem = "be brief"\n')
    asked = ("chat", "-m", letters_folder, "--dtype", "float32")
    [answer] = lookahead(*asked, stdin=b"/profile ./short.toml\nhello\n").text.splitlines()
    assert len(answer) == 3
    assert answer == lookahead(*asked, "-s", "be brief", "-n", "3", stdin=b"hello\n").text.strip()
    [answer] = lookahead(*asked, "-n", "5", stdin=b"/profile ./short.toml\nhello\n").text.splitlines()
    assert len(answer) == 5
    outcome = lookahead(*asked, stdin=b"/profile nothing\n")
    assert outcome.code == 2
    assert 'profile "nothing": not found' in outcome.stderr


def test_another_model_goes_on_with_the_conversation(
    lookahead: Lookahead, letters_folder: str, llama_folder: str, tmp_path: Path
) -> None:
    (tmp_path / "llama.toml").write_text(f'[model]\nsource = "{llama_folder}"\ndtype = "float32"\n')
    (tmp_path / "letters.toml").write_text(f'[model]\nsource = "{letters_folder}"\ndtype = "float32"\n')
    outcome = lookahead("chat", "--profile", "./letters.toml", "-n", "4", stdin=b"hello\n/profile ./llama.toml\nmore\n")
    assert outcome.code == 0
    assert "now with profile ./llama.toml" in outcome.stderr


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"/nonsense\n", "/nonsense is not a command"),
        (b"/set temperature hot\n", '/set temperature: "hot" is not allowed'),
        (b"/set temperature\n", "/set temperature lacks a value"),
        (b"/load nothing.json\n", "nothing.json: No such file"),
        (b"\xff\n", "standard input is not UTF-8 text"),
        (b'"""never ended\n', "ends in a message that began with"),
        (b"/retry\n", "nothing has been said yet"),
    ],
)
def test_what_is_wrong_in_a_pipe_ends_it(lookahead: Lookahead, letters_folder: str, stdin: bytes, message: str) -> None:
    outcome = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello\n" * (b"retry" not in stdin) + stdin)
    assert outcome.code == 2
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") <= 2
    assert len(outcome.text.splitlines()) == (b"retry" not in stdin), "what had been answered stays"


def test_the_model_that_was_talked_with_rehearses_whatever_was_set(
    lookahead: Lookahead, letters_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsing: list[Session] = []
    monkeypatch.setattr(Session, "rehearse", lambda session: rehearsing.append(session))
    lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"/set temperature 1\nhello\n")
    [session] = rehearsing
    assert session.settings.decoding.temperature == 1
    assert session.strategy is not None, "without one it never does"


@pytest.mark.parametrize("looks", [0, 3])
def test_ctrl_c_ends_a_chat_that_nobody_types_in(
    lookahead: Lookahead, letters_folder: str, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    looked = iter(range(100))

    @contextmanager
    def pressed() -> Iterator[Callable[[], bool]]:
        yield lambda: next(looked) >= looks

    monkeypatch.setattr(chat_loop, "stops_noted", pressed)
    outcome = lookahead("chat", "-m", letters_folder, *SHORT, stdin=b"hello\nnever heard\n")
    assert outcome.code == 130
    assert len(outcome.text.splitlines()) == (looks > 0), "what had been said is shown"


def test_ctrl_c_while_another_model_is_loaded_ends_neither_chat_nor_conversation(
    letters_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(source=letters_folder, dtype="float32", max_new_tokens=4)
    talk = Talk(open_session(settings), Conversation())
    loop = ChatLoop(talk, console("stderr", settings.display), settings, {"model": "another"}, typed=True)
    loop._heed_typed("hello")

    def pressed(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("lookahead_cli.session.open_session", pressed)
    loop._heed_typed("/profile default")
    assert "interrupted" in capsys.readouterr().err
    assert [turn.said for turn in talk.conversation.turns] == ["hello"]
    loop._heed_typed("still there?")
    assert len(talk.conversation.turns) == 2


def test_a_conversation_needs_a_template(
    lookahead: Lookahead, letters_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOKAHEAD_TEMPLATE", "raw")
    outcome = lookahead("chat", "-m", letters_folder, stdin=b"hello\n")
    assert outcome.code == 2
    assert "variable LOOKAHEAD_TEMPLATE: a conversation needs the chat template" in outcome.stderr


def test_messages_of_many_lines_stand_between_quotes() -> None:
    lines = iter([b"\xef\xbb\xbfone\r\n", b'"""two\n', b"\n", b'lines"""\n', b"\n", b"three"])
    assert list(piped_messages(lambda: next(lines, b""))) == ["one", "two\n\nlines", "", "three"]
    assert all(map(is_unfinished, ('"""', '"""a', '""""')))
    assert not any(map(is_unfinished, ('"""a"""', 'a"""')))
    assert unquoted('"""\na\n"""') == "a"
    unfinished = iter([b'"""a\n'])
    with pytest.raises(PromptError, match="ends in a message"):
        list(piped_messages(lambda: next(unfinished, b"")))
