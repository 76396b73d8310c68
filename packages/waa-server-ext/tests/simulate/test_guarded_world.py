"""A guarded world obeys its token and nobody who merely finds its ports."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

from bench_core.serving import BoundedHandler
from waa_server_ext.built_in import SimulatedDesktopWorld

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"
LATE_S = 60.0
ROUTES = (
    ("vm", "GET", "/screenshot"),
    ("vm", "POST", "/execute"),
    ("vm", "POST", "/setup/create_file"),
    ("vm", "POST", "/simulation/reset"),
    ("evaluate", "GET", f"/tasks/{TASK}"),
    ("evaluate", "POST", "/evaluate"),
    ("evaluate", "POST", "/setup"),
    ("evaluate", "POST", "/rescore"),
)


@pytest.fixture(scope="module")
def world() -> Iterator[SimulatedDesktopWorld]:
    world = SimulatedDesktopWorld(guarded=True)
    asyncio.run(world.start())
    yield world
    world.close()


def ask(world: SimulatedDesktopWorld, server: str, method: str, path: str, **headers: str) -> int:
    url = world.vm_url if server == "vm" else world.evaluate_url
    answer = httpx.request(
        method, url + path, json={}, headers=headers, timeout=LATE_S, trust_env=False
    )
    return answer.status_code


@pytest.mark.parametrize(("server", "method", "path"), ROUTES)
def test_no_route_answers_without_the_token(
    world: SimulatedDesktopWorld, server: str, method: str, path: str
) -> None:
    refused = {401, 403}
    assert ask(world, server, method, path) in refused
    assert ask(world, server, method, path, Authorization="Bearer x") in refused


def test_a_task_is_scored_with_the_token(world: SimulatedDesktopWorld) -> None:
    headers = {"Authorization": f"Bearer {world.token}"}

    answer = httpx.post(
        world.evaluate_url + "/evaluate",
        json={"task": TASK},
        headers=headers,
        timeout=LATE_S,
        trust_env=False,
    )

    assert (answer.status_code, answer.json()["score"]) == (200, 0.0)


def test_a_page_of_another_origin_controls_no_desktop(world: SimulatedDesktopWorld) -> None:
    bearer = f"Bearer {world.token}"
    code = ask(world, "vm", "POST", "/execute", Authorization=bearer, Origin="http://evil.example")
    assert code == 403


def test_a_request_that_is_never_complete_is_dropped(
    world: SimulatedDesktopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHandler, "request_s", 0.2)
    assert world.vm is not None
    place = httpx.URL(world.vm_url)
    with socket.create_connection((place.host, place.port or 80), timeout=LATE_S) as slow:
        slow.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        closed = slow.recv(65536)

    assert b"200 OK" not in closed
