"""Whatever has happened in a conversation, the next answer has the tokens of a fresh run over the same token ids."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.talk import Talk
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.layers import load_settings
from lookahead_cli.session import Session, open_session
from tests.chat.test_talk import save_with_letters
from tests.letters import save_letters
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE

ANSWER = 10
CONTEXT = 160
INTERRUPTED_FILES = ("lookahead_cli", "cache_utils", "modeling_")
"""Ctrl-C is tried at calls of functions in these: ours, and those of transformers that change a cache."""
LATEST_CALL = 120
"""A step of these models has about so many."""

places = st.sampled_from([0, 0, 0, 1, 2, 5])
"""Events before a stop: none means that the conversation is just being read."""

texts = st.text("ab c", min_size=1, max_size=30).map(lambda text: text.strip() or "x")
changes = st.sampled_from(
    [
        ("temperature", "0.8"), ("temperature", "0"), ("seed", "3"), ("seed", "random"), ("repetition_penalty", "1.3"),
        ("top_k", "5"), ("strategy", "greedy"), ("strategy", "jacobi"), ("strategy", "prompt-lookup"),
        ("strategy", "lookahead"), ("strategy", "speculative"), ("k", "1"), ("k", "12"), ("k", "auto"), ("stop", "e"),
        ("max_new_tokens", "1"), ("max_new_tokens", "10"), ("max_new_tokens", "100000"),
    ]
)  # fmt: skip
events = st.one_of(
    st.tuples(st.just("ask"), texts),
    st.tuples(st.just("ask"), texts),
    st.tuples(st.just("stop between steps"), places),
    st.tuples(st.just("interrupt a step"), st.tuples(places, st.integers(1, LATEST_CALL))),
    st.tuples(st.just("retry"), st.none()),
    st.tuples(st.just("set"), changes),
    st.tuples(st.just("system"), texts),
    st.tuples(st.just("reset"), st.none()),
)


@contextmanager
def interrupt_at(call: int) -> Iterator[None]:
    """KeyboardInterrupt at that call of a function, counted from here."""
    left = call

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call" and any(part in frame.f_code.co_filename for part in INTERRUPTED_FILES):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


class Checked:
    """A conversation, each answer of which is compared with that of a session with an empty cache."""

    def __init__(self, session: Session, reference: Session) -> None:
        fresh = session.with_decoding(session.settings.decoding)
        self.talk = Talk(fresh, Conversation())
        self.reference = reference

    def happen(self, name: str, argument: Any) -> None:
        talk = self.talk
        if name == "ask":
            self.ask(argument)
        elif name == "stop between steps":
            self.ask("stopped", steps=argument)
        elif name == "interrupt a step":
            self.ask("interrupted", *argument)
        elif name == "retry" and talk.conversation.turns:
            said = talk.take_back()
            if talk.session.settings.decoding.temperature:
                talk.next_seed()
            self.ask(said)
        elif name == "set":
            key, value = argument
            talk.set_value(key, value)
        elif name == "system":
            talk.conversation.system = argument
        elif name == "reset":
            talk.conversation = Conversation(talk.conversation.system)

    def ask(self, said: str, steps: int | None = None, call: int | None = None) -> None:
        generation = self.talk.ask(said)
        running = iter(generation)
        for _ in islice(running, steps):
            pass
        if call is not None:
            with suppress(KeyboardInterrupt), interrupt_at(call):
                next(running, None)
        whole = steps is None
        self.talk.keep()
        self.check(generation, whole)

    def check(self, generation: Generation, whole: bool) -> None:
        fresh = self.reference.beside(self.talk.session.settings.decoding).carry_on(generation.prompt_ids)
        list(fresh)
        expected, found = fresh.token_ids, generation.token_ids
        assert found == (expected if whole else expected[: len(found)])
        assert not whole or generation.finish_reason == fresh.finish_reason
        assert len(generation.prompt_ids) + len(found) <= self.talk.session.loaded.context_length


def save(kind: str, folder: Path) -> Path:
    if kind in ("lean", "transformers"):
        return save_letters(folder, context=CONTEXT)
    return save_with_letters(folder, {**REWINDABLE, **RUNNING_STATE}[kind]())


@pytest.fixture(
    scope="module",
    params=["lean", "transformers", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mistral", "mamba"))],
)
def sessions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, one_thread: None
) -> Iterator[tuple[Session, Session]]:
    """Two sessions of the same model, which share nothing."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKAHEAD_CACHE", str(folder / "cache"))
        model, draft = save(request.param, folder / "model"), save_letters(folder / "draft", seed=1, context=100)
        wanted = load_settings(
            "default", source=str(model), draft_model=str(draft), dtype="float32", max_new_tokens=ANSWER,
            runner="lean" if request.param == "lean" else "transformers", context_length=CONTEXT,
        )  # fmt: skip
        yield open_session(wanted), open_session(wanted)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ctrl-C while something is cleared up
@settings(max_examples=4)
@given(happening=st.lists(events, max_size=12))
def test_whatever_happened_the_next_answer_has_the_tokens_of_a_fresh_run(
    sessions: tuple[Session, Session], happening: list[tuple[str, Any]]
) -> None:
    checked = Checked(*sessions)
    for name, argument in happening:
        checked.happen(name, argument)
    checked.ask("and now?")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ctrl-C while something is cleared up
@pytest.mark.parametrize(("events_before", "every"), [(0, 40), (2, 7)], ids=["while reading", "in a step"])
def test_wherever_ctrl_c_comes_the_next_answers_are_those_of_fresh_runs(
    sessions: tuple[Session, Session], events_before: int, every: int
) -> None:
    checked = Checked(*sessions)
    for call in range(1, LATEST_CALL, every):
        checked.ask("hello")
        checked.happen("interrupt a step", (events_before, call))
        checked.ask("go on")
        checked.happen("reset", None)
        checked.happen("interrupt a step", (events_before, call))
        checked.happen("reset", None)
