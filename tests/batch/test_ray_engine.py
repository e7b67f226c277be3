"""Many records on the workers of a real Ray cluster, which runs on this machine."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lookahead_cli.batch.engine import Engine
from lookahead_cli.batch.feed import Feed
from lookahead_cli.batch.ray_cluster import Crew, import_ray
from lookahead_cli.batch.ray_engine import RayEngine
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.results import Failure, Outcome
from lookahead_cli.errors import ModelError
from lookahead_cli.profile import DecodingSettings, ModelSettings, Settings
from lookahead_cli.session import open_session
from tests.batch.answered import outcomes
from tests.tiny_models import save_tiny_llama

pytest.importorskip("ray")

pytestmark = pytest.mark.slow  # clusters take their time to start

REPOSITORY = Path(__file__).parents[2]
SIZE = 2
BAD = BadRecord(5, "bad", "a.jsonl, line 6", 6, "no JSON")
RECORDS: list[Record | BadRecord] = [
    Record(
        number,
        f"id-{number}",
        f"a.jsonl, line {number + 1}",
        prompt="hello world " * (1 + number % 3) + str(number),
        overrides={"temperature": 0.9, "max_new_tokens": 20 + 5 * number} if number % 2 else {},
    )
    for number in range(13)
    if number != BAD.number
]
RECORDS.insert(BAD.number, BAD)
TOO_LONG = Record(13, "long", "a.jsonl, line 14", prompt="too long " * 200)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = save_tiny_llama(tmp_path_factory.mktemp("ray") / "llama")
    return Settings(
        model=ModelSettings(source=str(folder)),
        decoding=DecodingSettings(max_new_tokens=60, seed=3, rehearse=False),
    )


@pytest.fixture(scope="module")
def expected(settings: Settings) -> dict[str, object]:
    """What the engine in this process says."""
    return answers(outcomes(Engine(open_session(settings), SIZE), Feed(iter([*RECORDS, TOO_LONG]))))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two cores, whatever this machine has."""
    ray = import_ray()
    ray.init(
        address="local",
        num_cpus=2,
        num_gpus=0,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.CRITICAL,
        object_store_memory=100 * 2**20,
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def engine(cluster: None, settings: Settings) -> Iterator[RayEngine]:
    """Two workers."""
    with RayEngine(settings, SIZE, cores=1) as engine:
        yield engine


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """A variable in the environment of every process that comes of the ones started here."""
    mark = f"LOOKAHEAD_MARK={uuid.uuid4()}"
    monkeypatch.setenv(*mark.split("="))
    return mark


def answers(outcomes: Iterator[Outcome]) -> dict[str, object]:
    """What is said of each record, which comes once."""
    said: dict[str, object] = {}
    for outcome in outcomes:
        assert outcome.id not in said
        if isinstance(outcome, Failure):
            said[outcome.id] = outcome
        else:
            said[outcome.id] = (outcome.number, outcome.text, outcome.token_ids, outcome.finish_reason, outcome.seed)
    return said


def processes(mark: str, name: str = "") -> list[int]:
    """Ids of those that live, have `mark` in their environment and `name` in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark.encode() in (folder / "environ").read_bytes()
            named = name.encode() in (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if marked and named:  # the dead that nobody has buried have neither
            found.append(int(folder.name))
    return found


def eventually(claim: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether a claim comes true."""
    end = time.monotonic() + seconds
    while not claim() and time.monotonic() < end:
        time.sleep(0.05)
    return claim()


def start_run(settings: Settings, count: int) -> subprocess.Popen[str]:
    """A run on a cluster of its own, in a process group of its own."""
    command = [sys.executable, "-m", "tests.batch.ray_run", settings.model_dump_json(), str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=REPOSITORY
    )


def test_workers_say_what_one_engine_here_says(engine: RayEngine, expected: dict[str, object]) -> None:
    assert [colleague.loaded for colleague in engine.colleagues] == [True, True]
    assert answers(outcomes(engine, Feed(iter([*RECORDS, TOO_LONG])))) == expected


def test_a_short_input_is_shared_out(engine: RayEngine) -> None:
    feed = Feed(iter(RECORDS[:4]))
    assert eventually(lambda: len(feed._ready) == 4)
    shares: list[list[int]] = []

    def may_enter() -> bool:
        shares.append([len(colleague.records) for colleague in engine.colleagues])
        return True

    assert len(list(outcomes(engine, feed, may_enter))) == 4
    assert [2, 2] in shares


def test_an_empty_input_ends_at_once(engine: RayEngine) -> None:
    assert list(outcomes(engine, Feed(iter([])))) == []


def test_results_come_while_the_input_is_silent(engine: RayEngine) -> None:
    told: list[str] = []

    def slow() -> Iterator[Record]:
        for number in range(2):
            yield Record(number, str(number), "-, line 1", prompt="x")
            assert eventually(lambda: len(told) > number)  # noqa: B023

    for outcome in outcomes(engine, Feed(slow())):
        told.append(outcome.id)
    assert told == ["0", "1"]


def test_nothing_new_enters_while_it_is_held_back(engine: RayEngine) -> None:
    entered: list[bool] = []

    def may_enter() -> bool:
        """One at a time."""
        free = not any(colleague.records for colleague in engine.colleagues)
        entered.append(free)
        return free

    records = [record for record in RECORDS[:4] if isinstance(record, Record)]
    done = [outcome.number for outcome in outcomes(engine, Feed(iter(records)), may_enter)]
    assert done == [record.number for record in records]
    assert False in entered


def test_what_a_dead_worker_had_is_answered_by_another(engine: RayEngine, expected: dict[str, object]) -> None:
    def killing() -> Iterator[Outcome]:
        answered = outcomes(engine, Feed(iter([*RECORDS, TOO_LONG])))
        yield next(answered)
        victim = next(colleague for colleague in engine.colleagues if colleague.records)
        import_ray().kill(victim.actor)
        yield from answered
        assert victim not in engine.colleagues

    assert answers(killing()) == expected


def test_a_record_that_kills_its_workers_fails_and_no_other(
    engine: RayEngine, expected: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to_work = engine._set_to_work

    def kill_with_deadly_record() -> None:
        set_to_work()
        for colleague in engine.colleagues:
            if 4 in colleague.records:
                import_ray().kill(colleague.actor)

    monkeypatch.setattr(engine, "_set_to_work", kill_with_deadly_record)
    reason = "the worker died 3 times with it"
    failure = Failure(4, "id-4", "a.jsonl, line 5", None, reason)
    assert answers(outcomes(engine, Feed(iter([*RECORDS, TOO_LONG])))) == {**expected, "id-4": failure}


def test_a_model_that_cannot_be_loaded_is_the_error_it_would_be_here(
    cluster: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A worker that asks for nothing has room beside those that are there.
    monkeypatch.setattr("lookahead_cli.batch.ray_engine.crew_for", lambda *a, **b: Crew(1, 0, 0, 1.0))
    broken = settings.model_copy(update={"model": ModelSettings(source=str(tmp_path))})
    with pytest.raises(ModelError) as here:
        open_session(broken)
    with pytest.raises(ModelError) as there, RayEngine(broken, SIZE):
        pass
    assert str(there.value) == str(here.value)
    assert type(there.value) is ModelError
    assert import_ray().is_initialized(), "what others have joined is not left"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked up in /proc")
def test_a_run_of_its_own_is_silent_whatever_dies_and_leaves_no_process(settings: Settings, mark: str) -> None:
    with start_run(settings, 30) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        first = run.stdout.readline()
        (worker,) = processes(mark, "ray::RayWorker")
        os.kill(worker, signal.SIGKILL)
        ids = [first, *run.stdout]
        assert run.stderr.read() == ""
    assert run.returncode == 0
    assert sorted(map(int, ids)) == list(range(30))
    assert eventually(lambda: processes(mark) == [])


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked up in /proc")
def test_ctrl_c_ends_everything(settings: Settings, mark: str) -> None:
    with start_run(settings, 10**9) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.readline()
        os.killpg(run.pid, signal.SIGINT)
        run.stdout.read()
        assert run.stderr.read() == ""
    assert run.returncode == 130
    assert eventually(lambda: processes(mark) == [])
