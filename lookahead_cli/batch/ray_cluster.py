"""A Ray cluster of this machine alone, or one that is there already; and how many workers fit into it."""

from __future__ import annotations

import logging
import os
import signal
import site
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import lookahead_cli
from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.models.failures import first_line
from lookahead_cli.profile import Settings

LOCAL, ANY_RUNNING = "local", "auto"
"""Addresses that are none: a cluster that is started, one that runs on this machine."""
ANSWER_SECONDS = 10.0
"""Within which a cluster has to answer. Ray itself would try for minutes, and complain meanwhile."""
OBJECT_STORE_BYTES = 100 * 2**20
"""Records and results are small and do not even pass through it; by default it takes a third of all memory."""
USUAL_CORES = 4
"""Of a worker without a GPU: a pass gains little from more, another batch beside it does."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to anybody
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # under `uv run` the working folder would be uploaded to the cluster
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of what it will do in the future
    "RAY_prestart_worker_first_driver": "0",  # a process for each core, of which ours could use none
}
"""Environment that Ray reads when it is imported. What the user has set stays."""

STDERR = 2
"""Its file descriptor."""

_HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS_FRAME = 4


@dataclass(frozen=True)
class Machine:
    """What a machine of the cluster has to offer to Ray."""

    cores: int
    gpus: int


@dataclass(frozen=True)
class Crew:
    """The workers of a run."""

    workers: int
    cores: int
    """That each one asks for; 0: of no account, it has a GPU."""
    gpus: int
    """That each one asks for: 0 or 1."""
    memory_share: float
    """Part of a machine's memory for each."""


@dataclass(frozen=True)
class Cluster:
    """Where workers are started."""

    machines: list[Machine]
    environment: dict[str, str]
    """Variables that workers need."""


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster]:
    """The cluster at `address`, or one that is started here and ends with this. One that this process has joined
    before is taken as it is, and stays joined.

    Raises:
        ProfileError: Ray is missing, or the address is none.
        ResourceError: no cluster can be started, or none answers.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield Cluster(machines_of(ray), lookahead_variables())
        return
    where = LOCAL if address is None else checked_address(address)
    terminated = signal.getsignal(signal.SIGTERM)  # Ray puts a handler of its own there
    try:
        with silenced(ray):
            join(ray, where)
            environment = lookahead_variables() | (checkout_variables() if where == LOCAL else {})
            yield Cluster(machines_of(ray), environment)
    finally:
        ray.shutdown()  # also after a Ctrl-C halfway through joining
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, terminated)


def import_ray() -> ModuleType:
    """Ray, which takes a second to import and is there only if it was asked for.

    Raises:
        ProfileError: it is missing.
    """
    if find_spec("ray") is None:
        raise ProfileError("option --engine: ray is missing; pip install 'lookahead-cli[ray]'")
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    module: ModuleType = ray
    return module


def checked_address(address: str) -> str:
    """`address` if a cluster answers there.

    Raises:
        ProfileError: it is none.
        ResourceError: no cluster answers.
    """
    if address == ANY_RUNNING:
        address = os.environ.get("RAY_ADDRESS", ANY_RUNNING)
    if address == ANY_RUNNING:
        return address
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isdecimal()) or "/" in host:
        raise ProfileError(
            f'option --ray-address: "{address}" is not allowed: it must be HOST:PORT of the head of a Ray cluster, '
            f'such as 10.0.0.1:6379, or "{ANY_RUNNING}" for the one that runs on this machine'
        )
    try:
        answers = speaks_http2(host.strip("[]"), int(port))
    except (OSError, OverflowError, UnicodeError) as error:
        raise ResourceError(f"the Ray cluster at {address} cannot be reached: {first_line(error)}") from error
    if not answers:
        raise ResourceError(f"what answers at {address} is no Ray cluster; give the address of its head")
    return address


def speaks_http2(host: str, port: int) -> bool:
    """Whether a server there could be a cluster's. Raises OSError if there is none."""
    with socket.create_connection((host, port), timeout=ANSWER_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS", "0") != "0":
            return True  # it would first have to be encrypted; there is somebody at least
        connection.sendall(_HTTP2_GREETING)
        answer = connection.recv(len(_HTTP2_GREETING))
    return answer[3:4] == bytes((_SETTINGS_FRAME,))


def join(ray: ModuleType, where: str) -> None:
    """Join the cluster, or start it.

    Raises:
        ResourceError: that cannot be done.
    """
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if where == LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        with nullcontext() if where == LOCAL else stderr_closed():
            ray.init(address=where, **options)
    except Exception as error:  # whatever it is: connections, versions, disks, time limits, in any class
        if is_about_tokens(error):
            raise ResourceError(
                f"the Ray cluster at {where} lets in only those who have its token: set RAY_AUTH_MODE=token, and "
                "RAY_AUTH_TOKEN if the token is not in ~/.ray/auth_token"
            ) from error
        failed = "Ray cannot be started" if where == LOCAL else f"the Ray cluster at {where} cannot be joined"
        raise ResourceError(f"{failed}: {first_line(error)}") from error


def is_about_tokens(error: BaseException | None) -> bool:
    """Whether `error` came of a token that is missing or wrong. Ray tells it only in words."""
    while error is not None:
        if "AuthenticationError" in f"{type(error).__name__}: {error}":
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def stderr_closed() -> Iterator[None]:
    """Until it has joined a cluster and has a file to write to, the part of Ray that is not Python complains straight
    to standard error, every second. What is wrong is told by an exception."""
    try:
        kept = os.dup(STDERR)
    except OSError:  # closed by whoever started us
        yield
        return
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, STDERR)
        os.close(nothing)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)


@contextmanager
def silenced(ray: ModuleType) -> Iterator[None]:
    """Ray prints what it hears of the cluster, each death of a worker, to standard output, where results go. No
    setting turns that off."""
    module = ray._private.worker
    printing = getattr(module, "print_to_stdstream", None)
    if printing is None:
        yield
        return
    module.print_to_stdstream = lambda *arguments, **options: None
    try:
        yield
    finally:
        module.print_to_stdstream = printing


def machines_of(ray: ModuleType) -> list[Machine]:
    """Those that are there now."""
    offers = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [Machine(int(offer.get("CPU", 0)), int(offer.get("GPU", 0))) for offer in offers]


def lookahead_variables() -> dict[str, str]:
    """Environment variables that say where models and caches are."""
    return {name: value for name, value in os.environ.items() if name.startswith("LOOKAHEAD_")}


def checkout_variables() -> dict[str, str]:
    """What lets workers on this machine find the package if it runs without having been installed."""
    root = Path(lookahead_cli.__file__).resolve().parent.parent
    installed = [Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())]
    if root in installed:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))}


def crew_for(machines: list[Machine], settings: Settings, cores: int | None, *, one_device: bool = False) -> Crew:
    """A worker for each GPU; without GPUs one for every `cores` cores. At least one. With `one_device` all of them
    would share a device that Ray does not know, so there is only one.

    Raises:
        ProfileError: the settings name a certain GPU, or several at a time.
        ResourceError: the cluster has nothing to offer.
    """
    device = settings.model.device
    if device.startswith("cuda:") or device == "spread":
        raise ProfileError(f"device: with Ray every worker gets one GPU, so {device} is not allowed; give auto or cuda")
    gpus = 0 if device in ("cpu", "mps") else sum(machine.gpus for machine in machines)
    most_cores = max((machine.cores for machine in machines), default=0)
    if gpus:
        fitting = min(machine.cores // machine.gpus for machine in machines if machine.gpus)
        return Crew(gpus, min(cores or 0, fitting), 1, 1.0)
    if not most_cores:
        raise ResourceError("the Ray cluster has neither cores nor GPUs to offer; add a machine to it")
    cores = min(cores or USUAL_CORES, most_cores)
    beside = most_cores // cores
    workers = 1 if one_device else sum(machine.cores // cores for machine in machines)
    return Crew(workers, cores, 0, 1.0 if one_device else 1 / beside)
