"""Answers records on all machines of a Ray cluster: each worker has a model and a batch of its own.

Which worker answers a record, and beside which others, changes no token of it (DESIGN.md, section 5). So a record
whose worker has died is simply answered by another one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from time import monotonic, sleep
from types import ModuleType, TracebackType
from typing import Any, Literal, NoReturn

from lookahead_cli import __version__
from lookahead_cli.batch.engine import failure_of
from lookahead_cli.batch.feed import Supply
from lookahead_cli.batch.ray_cluster import Cluster, Crew, cluster_at, crew_for, import_ray
from lookahead_cli.batch.ray_worker import BEAT, Loaded, RayWorker, Started, Worked
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.results import Failure, Outcome
from lookahead_cli.errors import LookaheadError, ProfileError, ResourceError
from lookahead_cli.models.devices import present_devices
from lookahead_cli.models.failures import first_line
from lookahead_cli.profile import Settings

MOST_DEATHS = 3
"""Of workers, with the same record each time or while they load the model, before that is no accident."""
START_SECONDS = 120.0
"""Within which one worker has to be there. It imports torch first, perhaps from a slow disk; more means that the
cluster has no room."""


@dataclass(eq=False)
class Colleague:
    """A worker as seen from here. It has one call to answer at a time, and brings its places along."""

    actor: Any
    call: Any
    """Reference to the answer of the call it is busy with; None: it waits for records."""
    started: bool = False
    loaded: bool = False
    places: int = 0
    """Records it still wants."""
    given: list[Record] = field(default_factory=list)
    """For its next call."""
    records: dict[int, Record] = field(default_factory=dict)
    """All that it has and has not answered, by number."""

    def give(self, record: Record) -> None:
        self.records[record.number] = record
        self.given.append(record)
        self.places -= 1


class RayEngine:
    """Like `Engine`, on the workers of a Ray cluster. To be used in a `with` statement, which starts and ends them.

    On the machines of a cluster that is joined the same version of this package must be installed, and the model be
    there: a hub id, or a path that exists on each of them. Variables called LOOKAHEAD_... are sent along.
    """

    def __init__(
        self,
        settings: Settings,
        size: int | Literal["auto"],
        address: str | None = None,
        cores: int | None = None,
    ) -> None:
        """`address` of a cluster to join; None: one is started, of this machine alone. `cores` of each worker."""
        assert isinstance(settings.decoding.seed, int), '"random" is replaced before: all workers need the same one'
        self.settings, self.size, self.address, self.cores = settings, size, address, cores
        self.colleagues: list[Colleague] = []
        self.notices: list[str] = []
        """What the user should know about how the model is run, a sentence each."""
        self.dtype: str | None = None
        """In which the workers compute."""
        self._again: deque[Record] = deque()
        """Records whose worker has died."""
        self._deaths: Counter[int] = Counter()
        """Of workers, by number of a record they had."""
        self._failed_loads = 0
        """Deaths of workers that had no model yet, since one was loaded."""
        self._last_started = 0.0
        """When a worker was last known to be there."""
        self._opened = ExitStack()

    def __enter__(self) -> RayEngine:
        """Start workers, and wait until there is a model.

        Raises:
            LookaheadError: Ray is missing, the cluster cannot be reached or has no room, the model cannot be loaded.
        """
        with ExitStack() as stack:
            self._ray: ModuleType = import_ray()
            self._cluster: Cluster = stack.enter_context(cluster_at(self.address))
            stack.callback(self._dismiss)
            self._crew: Crew = crew_for(
                self._cluster.machines, self.settings, self.cores, one_device=self._would_share_mps()
            )
            self._last_started = monotonic()
            for _ in range(self._crew.workers):
                self.colleagues.append(self._hire())
            self._wait_for_models()
            self._opened = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, and the cluster if it was started here."""
        self._opened.close()

    def answer(self, feed: Supply, may_enter: Callable[[], bool] = lambda: True) -> Iterator[Outcome | None]:
        while True:
            yield from self._hand_out(feed, may_enter)
            self._set_to_work()
            if not self._again and not any(colleague.records for colleague in self.colleagues):
                if feed.ended:
                    return
                if self._idle and not may_enter():
                    sleep(BEAT)
            yield from self._listen()
            yield None

    def _would_share_mps(self) -> bool:
        """Whether workers would all use the GPU of a Mac, which Ray does not see."""
        device = self.settings.model.device
        here = self.address is None and device == "auto" and present_devices()[0] == "mps"
        return device == "mps" or here

    def _hire(self) -> Colleague:
        """A new worker, as soon as the cluster has room for it."""
        threads = self.settings.model.threads
        if threads == "auto" and self._crew.cores:
            threads = self._crew.cores
        model = self.settings.model.model_copy(update={"threads": threads})
        settings = self.settings.model_copy(update={"model": model})
        actor = (
            self._ray.remote(RayWorker)
            .options(
                num_cpus=self._crew.cores,
                num_gpus=self._crew.gpus,
                max_restarts=0,  # what has died is replaced here, where it is known what it had to do
                max_task_retries=0,
                runtime_env={"env_vars": self._cluster.environment},
            )
            .remote(settings, self.size, self._crew.memory_share)
        )
        return Colleague(actor, actor.start.remote())

    def _dismiss(self) -> None:
        """End all workers. Those of a cluster that was joined do not end with it."""
        for colleague in self.colleagues:
            self._end(colleague)
        self.colleagues.clear()

    def _end(self, colleague: Colleague) -> None:
        with suppress(Exception):  # it may be gone already, and so may be the cluster
            self._ray.kill(colleague.actor)

    def _wait_for_models(self) -> None:
        """Until all workers have theirs, or have taken twice as long as the first one: then it is not worth waiting
        for them. A short input is shared out evenly only among those who are there."""
        begun = monotonic()
        patience: float | None = None
        while patience is None or (monotonic() < patience and not all(one.loaded for one in self.colleagues)):
            for _ in self._listen():
                raise AssertionError("nobody has been given a record")
            if patience is None and any(one.loaded for one in self.colleagues):
                patience = monotonic() + (monotonic() - begun)

    @property
    def _idle(self) -> bool:
        """Whether no call is to be answered."""
        return all(colleague.call is None for colleague in self.colleagues)

    def _hand_out(self, feed: Supply, may_enter: Callable[[], bool]) -> Iterator[Failure]:
        """Give records to those who wait for some, to each in turn; failures are of what can be given to nobody."""
        self._hand_out_suspects()
        while wanting := [one for one in self.colleagues if one.loaded and one.call is None and one.places > 0]:
            record = self._next_record(feed, may_enter)
            if record is None:
                return
            if isinstance(record, BadRecord):
                yield failure_of(record, record.reason)
                continue
            min(wanting, key=lambda one: len(one.records)).give(record)

    def _next_record(self, feed: Supply, may_enter: Callable[[], bool]) -> Record | BadRecord | None:
        """One that was interrupted, or a new one; None if there is none at the moment."""
        for record in self._again:
            if not self._is_suspect(record):
                self._again.remove(record)
                return record
        if not may_enter():
            return None
        nothing_else = self._idle and not self._again and not any(one.records for one in self.colleagues)
        return feed.take(wait=nothing_else)

    def _is_suspect(self, record: Record) -> bool:
        """Whether with one more death it would be over: then it must be alone with its worker, so that it is not
        blamed for what another one does."""
        return self._deaths[record.number] == MOST_DEATHS - 1

    def _hand_out_suspects(self) -> None:
        """Give each to a worker that has nothing else, and gets nothing else."""
        free = [one for one in self.colleagues if one.loaded and one.call is None and not one.records]
        suspects = [record for record in self._again if self._is_suspect(record)]
        for colleague, record in zip(free, suspects, strict=False):
            self._again.remove(record)
            colleague.give(record)
            colleague.places = 0

    def _set_to_work(self) -> None:
        for colleague in self.colleagues:
            if colleague.call is None and colleague.records:
                colleague.call = colleague.actor.work.remote(colleague.given)
                colleague.given = []

    def _listen(self) -> list[Outcome]:
        """What the next worker has to tell, if one has within a beat."""
        by_call = {colleague.call: colleague for colleague in self.colleagues if colleague.call is not None}
        if not by_call:
            return []
        answered, _ = self._ray.wait(list(by_call), num_returns=1, timeout=BEAT)
        outcomes: list[Outcome] = []
        for call in answered:
            outcomes += self._hear(by_call[call])
        if any(colleague.started for colleague in self.colleagues):
            self._last_started = monotonic()
        elif monotonic() - self._last_started > START_SECONDS:
            raise ResourceError(
                f"the Ray cluster has started no worker within {START_SECONDS:.0f} seconds: others may be using it; "
                "try later, or ask for fewer cores with --ray-cores"
            )
        return outcomes

    def _hear(self, colleague: Colleague) -> list[Outcome]:
        """Take in what a worker answers to its call."""
        errors = self._ray.exceptions
        call, colleague.call = colleague.call, None
        try:
            said = self._ray.get(call)
        except errors.RayTaskError as error:
            raise_own(error)
        except errors.RayError as error:
            return self._replace(colleague, error)
        if isinstance(said, Started):
            self._meet(colleague, said)
        elif isinstance(said, Loaded):
            self._get_ready(colleague, said)
        else:
            assert isinstance(said, Worked)
            return self._collect(colleague, said)
        return []

    def _meet(self, colleague: Colleague, said: Started) -> None:
        if said.version != __version__:
            raise ResourceError(
                f"a machine of the Ray cluster has version {said.version} of lookahead-cli and this one {__version__}; "
                "install the same everywhere"
            )
        colleague.started = True
        colleague.call = colleague.actor.load.remote()

    def _get_ready(self, colleague: Colleague, said: Loaded) -> None:
        if self.dtype is None:
            self.dtype, self.notices = said.dtype, list(said.notices)
        if said.dtype != self.dtype:
            raise ProfileError(
                f"dtype: one machine of the Ray cluster chooses {self.dtype} and another one {said.dtype}, which give "
                "different tokens; choose one of them"
            )
        self._failed_loads = 0
        colleague.loaded, colleague.places = True, said.places

    def _collect(self, colleague: Colleague, said: Worked) -> list[Outcome]:
        for outcome in said.outcomes:
            del colleague.records[outcome.number]
            self._deaths.pop(outcome.number, None)
        on_trial = any(self._is_suspect(record) for record in colleague.records.values())
        colleague.places = 0 if on_trial else said.places
        return list(said.outcomes)

    def _replace(self, colleague: Colleague, error: Exception) -> list[Outcome]:
        """Another worker takes the place of one that has died, or cannot be reached. Failures are of records that
        have been there too often."""
        self._end(colleague)
        if getattr(error, "actor_init_failed", False):  # its class could not even be imported
            reason = str(error).splitlines()[-1].strip()
            raise ResourceError(
                f"a machine of the Ray cluster cannot run lookahead-cli ({reason}): install the same version there"
            )
        if not colleague.loaded:
            self._failed_loads += 1
            if self._failed_loads >= MOST_DEATHS:
                raise ResourceError(
                    f"{MOST_DEATHS} workers have died before they had loaded the model ({first_line(error)}): if "
                    "memory is short, give each more cores with --ray-cores, so that there are fewer"
                )
        failures: list[Outcome] = []
        for number, record in colleague.records.items():
            self._deaths[number] += 1
            if self._deaths[number] < MOST_DEATHS:
                self._again.append(record)
            else:
                del self._deaths[number]
                failures.append(failure_of(record, f"the worker died {MOST_DEATHS} times with it"))
        self.colleagues[self.colleagues.index(colleague)] = self._hire()
        return failures


def raise_own(error: Any) -> NoReturn:
    """Raise what a worker has raised, without what Ray has wrapped around it."""
    cause = error.cause
    if isinstance(cause, LookaheadError):
        raise cause from None  # a sentence for the user; where it was raised is of no use to anybody
    raise (cause if isinstance(cause, Exception) else error) from error
