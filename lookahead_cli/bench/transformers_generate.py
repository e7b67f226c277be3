"""transformers' own `generate` as a contestant: its steps as events, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import Semaphore, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.decoding.continuation import take_until_end
from lookahead_cli.decoding.ending import Ending
from lookahead_cli.decoding.events import MODEL, Event, PrefillEvent, StepEvent
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.errors import ModelError
from lookahead_cli.models.failures import first_line, memory_failure
from lookahead_cli.session import Session, sampling_settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

GUESSES = "its own guesses"
"""Provenance of tokens that came out of one pass together, but for the last of them."""
CHARGED = (0, 2)
"""How often the time of the first steps counts as decoding. What the first one takes beside the prompt cannot be told,
so the second stands for both: else its tokens, twenty with an assistant, would have come in no time."""


class GivenUp(Exception):
    """Raised inside `generate` to end it when nobody wants more of its tokens."""


@dataclass
class TransformersGenerate:
    """The model of a session, run by transformers' `generate` alone."""

    session: Session
    """Says how prompts are put and what decides which token comes out."""
    model: PreTrainedModel
    more: dict[str, Any]
    """What `generate` is told beside the sampling: how it guesses."""
    by_turns: bool
    """Whether others decode between its steps. That takes a thread, and OpenMP's workers wait for work in another way
    while two threads have some: passes take another time then, so it is done only for a race that is watched."""

    @property
    def notices(self) -> list[str]:
        """Nothing."""
        return []

    def generate(self, prompt: str) -> Generation:
        """As `Session.generate`, which says what it raises."""
        ids, ending = self.session.prepare(prompt)
        return Generation(ids, self._events(ids, ending))

    def limited(self, max_new_tokens: int) -> TransformersGenerate:
        return replace(self, session=self.session.limited(max_new_tokens))

    def start_afresh(self) -> None:
        """It learns nothing."""

    def _events(self, ids: Sequence[int], ending: Ending) -> Iterator[Event]:
        generate = partial(self._generate, ids, ending.remaining)
        account = Account(len(ids), ending)
        if self.by_turns:
            for tokens, seconds in one_step_at_a_time(generate):
                yield from account.events(tokens, seconds)
                if account.is_closed:
                    return
        else:
            events: list[Event] = []

            def take(tokens: list[int], seconds: float) -> None:
                events.extend(account.events(tokens, seconds))
                if account.is_closed:
                    raise GivenUp

            with suppress(GivenUp):
                generate(Stopwatch(take))
            yield from events
        if not account.is_closed:
            yield StepEvent((), (), (), {}, 0.0, finish_reason="eos")  # it ended by a rule of its own

    def _generate(self, ids: Sequence[int], max_new_tokens: int, streamer: Any) -> None:
        sampling = sampling_settings(self.session.settings.decoding)
        ends = sorted(self.session.loaded.eos_token_ids)
        options: dict[str, Any] = {
            "do_sample": sampling.temperature > 0,
            "repetition_penalty": sampling.repetition_penalty,
            "eos_token_id": ends or None,
            "pad_token_id": ends[0] if ends else 0,
        }
        if sampling.temperature > 0:
            options |= {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
            options |= {"min_p": sampling.min_p} if sampling.min_p else {}
            torch.manual_seed(sampling.seed)
        given = torch.tensor([list(ids)], device=self.model.device)
        try:
            with torch.inference_mode():
                self.model.generate(
                    given, attention_mask=torch.ones_like(given), max_new_tokens=max_new_tokens, streamer=streamer,
                    **options, **self.more,
                )  # fmt: skip
        except GivenUp:
            raise
        except Exception as error:  # not every kind of guessing goes with every model, and it finds out late
            failed, advice = (
                f"transformers' generate does not take {self.session.loaded.folder} this way",
                "leave it out",
            )
            lack = memory_failure(error, failed, advice)
            raise lack or ModelError(f"{failed} ({first_line(error)}); {advice} of --with") from error


class Account:
    """Makes events of steps. The first step is part of the pass over the prompt, which counts as prefill."""

    def __init__(self, prompt_tokens: int, ending: Ending) -> None:
        self.prompt_tokens = prompt_tokens
        self.ending = ending
        self.steps = 0
        self.is_closed = False
        """Whether the generation has ended."""

    def events(self, tokens: Sequence[int], seconds: float) -> Iterator[Event]:
        """The events of the next step."""
        if self.steps == 0:
            yield PrefillEvent(self.prompt_tokens, seconds)
        seconds *= CHARGED[self.steps] if self.steps < len(CHARGED) else 1
        self.steps += 1
        texts, finish_reason = take_until_end(tokens, self.ending)
        self.is_closed = finish_reason is not None
        yield StepEvent(
            token_ids=tuple(tokens[: len(texts)]),
            provenance=(*[GUESSES] * (len(tokens) - 1), MODEL)[: len(texts)],
            texts=texts,
            drafted_by={},
            seconds=seconds,
            finish_reason=finish_reason,
        )


class Stopwatch:
    """A streamer that gives away each step's tokens and how long they took."""

    def __init__(self, take: Callable[[list[int], float], None]) -> None:
        self.take = take
        self.started = perf_counter()
        self.has_prompt = False

    def put(self, tokens: Tensor) -> None:
        if not self.has_prompt:  # generate begins by handing out the prompt
            self.has_prompt = True
            return
        self.take([int(token) for token in tokens.flatten()], perf_counter() - self.started)
        self.started = perf_counter()

    def end(self) -> None:
        pass


class Handover:
    """Steps on their way from the thread in which they are made, which goes on only when asked for more."""

    def __init__(self) -> None:
        self.steps: SimpleQueue[tuple[list[int], float] | BaseException | None] = SimpleQueue()
        self.go_on = Semaphore(0)
        self.given_up = False

    def give(self, tokens: list[int], seconds: float) -> None:
        self.steps.put((tokens, seconds))
        self.wait()

    def wait(self) -> None:
        self.go_on.acquire()
        if self.given_up:
            raise GivenUp


def one_step_at_a_time(generate: Callable[[Stopwatch], None]) -> Iterator[tuple[list[int], float]]:
    """The tokens and seconds of each step of `generate`, which runs in a thread, but only while they are waited for.

    So it never takes a core away from whoever has its turn, and ends soon after the iterator is closed.
    """
    handover = Handover()

    def run() -> None:
        failure: BaseException | None = None
        try:
            handover.wait()
            generate(Stopwatch(handover.give))
        except GivenUp:
            pass
        except BaseException as error:  # raised again where the tokens are waited for
            failure = error
        handover.steps.put(failure)

    thread = Thread(target=run, name="generate", daemon=True)
    thread.start()
    try:
        while True:
            handover.go_on.release()
            step = handover.steps.get()
            if isinstance(step, BaseException):
                raise step
            if step is None:
                return
            yield step
    finally:
        handover.given_up = True
        handover.go_on.release()
        thread.join()
