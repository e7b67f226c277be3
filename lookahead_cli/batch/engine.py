"""Answers records, many at a time: the next one enters as soon as there is room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal, Protocol

from lookahead_cli.batch.batch_size import MEMORY_SHARE, BatchSize
from lookahead_cli.batch.feed import Supply
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.requests import Request, make_request
from lookahead_cli.batch.results import Failure, Outcome, Result
from lookahead_cli.decoding.events import StepEvent
from lookahead_cli.decoding.shared_budget import SharedBudget
from lookahead_cli.decoding.together import Together
from lookahead_cli.errors import LookaheadError, ResourceError
from lookahead_cli.models.batching import batch_runner_for
from lookahead_cli.models.devices import free_memory
from lookahead_cli.session import Session, sampling_settings


@dataclass
class Running:
    """A record in the batch."""

    request: Request
    entered: float
    """`perf_counter` at that time."""
    steps: list[StepEvent] = field(default_factory=list)


class Answering(Protocol):
    """What answers records."""

    @property
    def notices(self) -> list[str]:
        """What the user should know about how they are answered, a sentence each."""

    def answer(self, supply: Supply, may_enter: Callable[[], bool] = lambda: True) -> Iterator[Outcome | None]:
        """The outcome of every record, in the order in which they finish; None now and then: time has passed.
        `may_enter` can hold new ones back.

        Raises:
            LookaheadError: the run cannot go on.
        """


class Engine:
    """Runs on one model in this process."""

    def __init__(self, session: Session, wanted_size: int | Literal["auto"]) -> None:
        self.session = session
        runner = batch_runner_for(session.runner)
        self.size = BatchSize(wanted_size, MEMORY_SHARE * free_memory(session.loaded.device), runner)
        self.together = Together(runner, SharedBudget(session.kept_pass_times))
        self.strategy = session.strategy_for(sampling_settings(session.settings.decoding))
        self.running: dict[int, Running] = {}
        self.waiting: Request | None = None
        """Ready, but there is no memory for it at the moment."""
        self.gone_tokens = 0
        """What the latest record that has ended had reserved: its cache may still be there."""

    @property
    def notices(self) -> list[str]:
        said = list(self.session.notices)
        obstacle = self.together.runner.obstacle
        if obstacle is not None:
            said.append(f"with this model records are decoded one after the other: {obstacle}")
        size = "auto" if self.size.fixed is None else f"{self.size.fixed}"
        return [*said, f"batch size {size}; KV caches take at most {self.size.memory / 1e9:.2f} GB"]

    def answer(self, supply: Supply, may_enter: Callable[[], bool] = lambda: True) -> Iterator[Outcome | None]:
        while True:
            while self.places > 0 and may_enter():
                record = supply.take(wait=not self.running)
                if record is None:
                    break
                if (failure := self.take_in(record)) is not None:
                    yield failure
            if self.running:
                yield from self.go_on()
                yield None
            elif self.waiting is None and supply.ended:
                return

    def keep_what_was_learned(self) -> None:
        """Store what helps the next run to guess well: numbers, nothing of any text."""
        self.session.keep_hit_rates(self.together.budget.times)

    def take_in(self, record: Record | BadRecord) -> Failure | None:
        """Let a record enter; a failure if that cannot be."""
        if isinstance(record, BadRecord):
            return failure_of(record, record.reason)
        try:
            request = make_request(self.session, self.strategy, record)
            self.size.check(request.most_tokens)
        except ResourceError as error:
            if self.running:
                raise
            return failure_of(record, str(error))
        except LookaheadError as error:
            return failure_of(record, str(error))
        self.waiting = request
        self._admit()
        return None

    def go_on(self) -> list[Outcome]:
        """One pass; the outcomes of records that finished in it."""
        outcomes: list[Outcome] = []
        for number, what in self.together.step():
            running = self.running[number]
            if isinstance(what, LookaheadError):
                outcomes.append(failure_of(running.request.record, str(what)))
            else:
                running.steps.append(what)
                if what.finish_reason is None:
                    continue
                outcomes.append(result_of(running, perf_counter()))
            del self.running[number]
            self.size.free(self.gone_tokens)
            self.gone_tokens = running.request.most_tokens
        self.size.follow(self.together.budget)
        self._admit()
        return outcomes

    @property
    def places(self) -> int:
        """Free ones in the batch. None while a record waits for memory: the next one would take its turn."""
        return 0 if self.waiting is not None else self.size.most - len(self.running)

    def _admit(self) -> None:
        """Let the one that waits in if there is memory for it by now."""
        if self.waiting is None:
            return
        if not self.size.reserve(self.waiting.most_tokens):
            self.together.forget_gone()
            self.size.free(self.gone_tokens)
            self.gone_tokens = 0
            if not self.size.reserve(self.waiting.most_tokens):
                return
        request, self.waiting = self.waiting, None
        number = request.record.number
        self.running[number] = Running(request, perf_counter())
        self.together.enter(number, request.text)


def failure_of(record: Record | BadRecord, reason: str) -> Failure:
    """Why a record could not be answered."""
    return Failure(record.number, record.id, record.place, record.line, reason, record.fraction)


def result_of(running: Running, now: float) -> Result:
    """What became of a record that has come to its end."""
    request, steps = running.request, running.steps
    reason = steps[-1].finish_reason
    assert reason is not None, "its last step has ended it"
    return Result(
        number=request.record.number,
        id=request.record.id,
        text="".join(step.text for step in steps),
        finish_reason=reason,
        prompt_tokens=request.prompt_tokens,
        token_ids=tuple(token for step in steps for token in step.token_ids),
        provenance=tuple(source for step in steps for source in step.provenance),
        steps=len(steps),
        seconds=now - running.entered,
        seed=request.seed,
        fraction=request.record.fraction,
    )
