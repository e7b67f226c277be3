"""How many workers fit into a cluster, and finding out that there is none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lookahead_cli.batch.ray_cluster import Crew, Machine, checked_address, crew_for, import_ray
from lookahead_cli.errors import ProfileError, ResourceError
from lookahead_cli.profile import ModelSettings, Settings


def crew(machines: list[Machine], cores: int | None = None, device: str = "auto", *, one_device: bool = False) -> Crew:
    return crew_for(machines, Settings(model=ModelSettings(device=device)), cores, one_device=one_device)


@contextmanager
def server(answer: bytes) -> Iterator[int]:
    """The port of something that says `answer` to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("machines", "cores", "expected"),
    [
        ([Machine(2, 0)], None, Crew(1, 2, 0, 1.0)),
        ([Machine(2, 0)], 1, Crew(2, 1, 0, 0.5)),
        ([Machine(16, 0)], None, Crew(4, 4, 0, 0.25)),
        ([Machine(16, 0)], 100, Crew(1, 16, 0, 1.0)),
        ([Machine(0, 0), Machine(6, 0), Machine(6, 0)], None, Crew(2, 4, 0, 1.0)),
        ([Machine(2, 0)] * 8, None, Crew(8, 2, 0, 1.0)),
    ],
)
def test_without_gpus_there_is_a_worker_for_so_many_cores_of_a_machine(
    machines: list[Machine], cores: int | None, expected: Crew
) -> None:
    assert crew(machines, cores) == expected


@pytest.mark.parametrize(
    ("machines", "cores", "expected"),
    [
        ([Machine(2, 8)], None, Crew(8, 0, 1, 1.0)),
        ([Machine(16, 4), Machine(64, 0)], 2, Crew(4, 2, 1, 1.0)),
        ([Machine(2, 2), Machine(64, 2)], 8, Crew(4, 1, 1, 1.0)),
    ],
)
def test_with_gpus_each_has_a_worker_that_can_be_placed(
    machines: list[Machine], cores: int | None, expected: Crew
) -> None:
    assert crew(machines, cores) == expected


def test_gpus_are_left_alone_if_the_processor_is_asked_for() -> None:
    assert crew([Machine(8, 2)], device="cpu") == Crew(2, 4, 0, 0.5)


def test_one_device_for_all_has_one_worker() -> None:
    assert crew([Machine(8, 0)], one_device=True) == Crew(1, 4, 0, 1.0)


@pytest.mark.parametrize("device", ["cuda:1", "spread"])
def test_a_device_that_a_worker_could_not_have_is_refused(device: str) -> None:
    with pytest.raises(ProfileError, match=f"every worker gets one GPU, so {device}"):
        crew([Machine(8, 2)], device=device)


def test_a_cluster_with_nothing_to_offer_is_an_error() -> None:
    with pytest.raises(ResourceError, match="neither cores nor GPUs"):
        crew([Machine(0, 0)])


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "head:port", "ray://head:10001"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(ProfileError, match="must be HOST:PORT"):
        checked_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere.invalid:6379", "127.0.0.1:99999"])
def test_an_address_where_nobody_is_is_told_at_once(address: str) -> None:
    with pytest.raises(ResourceError, match="cannot be reached"):
        checked_address(address)


def test_another_server_is_no_cluster() -> None:
    with server(b"HTTP/1.1 400 Bad Request\r\n") as port, pytest.raises(ResourceError, match="is no Ray cluster"):
        checked_address(f"127.0.0.1:{port}")


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookahead_cli.batch.ray_cluster.find_spec", lambda name: None)
    with pytest.raises(ProfileError) as caught:
        import_ray()
    assert str(caught.value) == "option --engine: ray is missing; pip install 'lookahead-cli[ray]'"
