from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from bench_core.errors import EnvironmentFaultError, UnknownTaskError
from bench_core.protocols import World
from webarena_runner.login.http_login import is_logged_in, log_in
from webarena_runner.tasks import load_tasks
from webarena_runner.web import WebClient
from webarena_runner.world import BuiltInWorld, scripted_task_ids
from webarena_runner.world.launch import environment_of
from webarena_runner.world.scripts import demo_task_ids, script_for

if TYPE_CHECKING:
    from webarena_runner.world.site import StandInSite

FACTS = [274, 260, 44, 45, 156, 157, 132, 0, 399, 404, 595, 418, 512, 689]
"""The task ids that must be completable without Docker."""


def _serving() -> list[threading.Thread]:
    words = (".localhost", "process_request", "127.0.0.1")
    return [each for each in threading.enumerate() if any(word in each.name for word in words)]


async def test_it_is_a_world_with_a_host_of_its_own_per_site() -> None:
    world = BuiltInWorld()
    assert isinstance(world, World)

    info = await world.start()
    try:
        assert info.urls["shopping_admin"].endswith("/admin")
        hosts = {urlsplit(url).hostname for url in info.urls.values()}
        assert hosts == {site.hostname for site in world.sites.values()}
        assert all(WebClient().get(url).status == 200 for url in info.urls.values())
    finally:
        await world.stop()


async def test_stopping_ends_every_thread_and_port_and_may_be_repeated() -> None:
    others = _serving()  # servers of other tests, which may live as long as the session
    world = BuiltInWorld()
    info = await world.start()
    kept = socket.create_connection(("127.0.0.1", urlsplit(info.urls["reddit"]).port or 0))
    WebClient().get(info.urls["reddit"])

    await world.stop()
    await world.stop()
    kept.close()

    own = [each for each in _serving() if each not in others]
    for thread in own:
        thread.join(60)
    assert not [each for each in own if each.is_alive()]
    with pytest.raises(EnvironmentFaultError):
        WebClient().get(info.urls["reddit"])


async def test_starting_twice_keeps_the_same_sites() -> None:
    world = BuiltInWorld()
    first = await world.start()
    second = await world.start()
    await world.stop()

    assert first.urls == second.urls


def test_a_program_that_forgets_to_stop_it_still_ends() -> None:
    code = (
        "import asyncio\nfrom webarena_runner.world import BuiltInWorld\n"
        "print(len(asyncio.run(BuiltInWorld().start()).urls))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )

    assert ran.stdout.strip() == "5"


def _change(site: StandInSite) -> None:
    """Change whatever a visitor can change on a site."""
    for name, value in vars(site).items():
        if not name.startswith("_"):
            setattr(site, name, type(value)())


@pytest.mark.parametrize("name", ["gitlab", "map", "reddit", "shopping", "shopping_admin"])
async def test_a_reset_puts_one_site_back_and_logs_out(world: BuiltInWorld, name: str) -> None:
    site = world.sites[name]
    fresh = {key: repr(value) for key, value in vars(type(site)()).items() if key[0] != "_"}
    _change(site)

    world.reset([name])

    assert {key: repr(value) for key, value in vars(site).items() if key[0] != "_"} == fresh


async def test_a_reset_leaves_other_sites_alone(world: BuiltInWorld) -> None:
    config = environment_of(world).config.site("reddit")
    session = log_in(config, "reddit")

    world.reset(["gitlab", "shopping"])
    assert is_logged_in(config, session)

    world.reset()
    assert not is_logged_in(config, session)


async def test_a_site_can_answer_with_an_error(world: BuiltInWorld) -> None:
    world.faults["gitlab"].switch_on("error", "/explore", times=1)
    url = world.urls["gitlab"]

    assert WebClient().get(f"{url}/users/sign_in").status == 200
    assert WebClient().get(f"{url}/explore").status == 500
    assert WebClient().get(f"{url}/explore").status == 200


@pytest.mark.parametrize("kind", ["stall", "drop"])
async def test_a_site_can_leave_requests_without_an_answer(world: BuiltInWorld, kind: Any) -> None:
    world.faults["map"].switch_on(kind)

    with pytest.raises(EnvironmentFaultError):
        WebClient(timeout_s=0.5).get(world.urls["map"])

    world.faults["map"].clear()
    assert WebClient().get(world.urls["map"]).status == 200


async def test_a_site_can_show_a_page_that_never_rests(world: BuiltInWorld) -> None:
    world.faults["map"].switch_on("hang")

    assert "for (;;)" in WebClient().get(world.urls["map"]).text


async def test_an_unknown_fault_is_refused(world: BuiltInWorld) -> None:
    with pytest.raises(
        ValueError, match="known are error, busy, stall, drop, garbage, cut, empty, hang"
    ):
        world.faults["map"].switch_on("explode")  # type: ignore[arg-type]


def _control(
    world: BuiltInWorld, path: str, order: dict[str, Any], prefix: str | None = None, **headers: str
) -> tuple[int, Any]:
    parts = urlsplit(world.control_url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port)
    path = (parts.path if prefix is None else prefix) + path
    connection.request("POST", path, json.dumps(order), headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body


@pytest.mark.parametrize(
    ("prefix", "headers"),
    [
        pytest.param("", {}, id="no token"),
        pytest.param("/x", {}, id="another token"),
        pytest.param("/", {}, id="an empty token"),
        pytest.param(None, {"Origin": "http://shop.test"}, id="a page's"),
        pytest.param(None, {"Sec-Fetch-Site": "cross-site"}, id="a page's without an origin"),
    ],
)
async def test_the_controls_are_for_nobody_else(
    world: BuiltInWorld, prefix: str | None, headers: dict[str, str]
) -> None:
    status, body = _control(world, "/faults", {"kind": "error"}, prefix, **headers)

    assert (status, body) == (403, {"error": "not for you"})
    assert WebClient().get(world.urls["map"]).status == 200


@pytest.mark.parametrize("host", ["evil.test", "[::1]evil", "localhost.evil.test"])
async def test_no_site_and_no_control_answers_for_another_host(
    world: BuiltInWorld, host: str
) -> None:
    for url in (world.control_url, world.urls["map"]):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port)
        connection.request("GET", parts.path or "/", headers={"Host": host})
        assert connection.getresponse().status == 403
        connection.close()


async def test_another_process_can_control_the_world(world: BuiltInWorld) -> None:
    config = environment_of(world).config.site("reddit")
    session = log_in(config, "reddit")

    status, body = _control(world, "/expire", {"sites": ["reddit"]})

    assert (status, body) == (200, {"sites": world.urls})
    assert not is_logged_in(config, session)
    _control(world, "/faults", {"sites": ["map"], "kind": "error", "times": 1})
    assert WebClient().get(world.urls["map"]).status == 500
    _control(world, "/faults", {"kind": "error"})
    _control(world, "/clear-faults", {})
    assert WebClient().get(world.urls["map"]).status == 200
    world.sites["reddit"].biography = "changed"  # type: ignore[attr-defined]
    _control(world, "/reset", {"sites": ["reddit"]})
    assert world.sites["reddit"].biography == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "order"),
    [
        ("/reset", {"sites": ["wikipedia"]}),
        ("/faults", {"kind": "explode"}),
        ("/dance", {}),
    ],
)
async def test_an_order_it_does_not_know_is_refused(
    world: BuiltInWorld, path: str, order: dict[str, Any]
) -> None:
    status, body = _control(world, path, order)

    assert status == 400
    assert "error" in body


def test_every_script_is_for_a_real_task_of_the_worlds_sites() -> None:
    sites = {task.task_id: set(task.groups["site"]) for task in load_tasks()}
    known = {"gitlab", "map", "reddit", "shopping", "shopping_admin"}

    assert all(sites[str(each)] <= known for each in scripted_task_ids())


def test_the_tasks_that_need_no_docker_are_there() -> None:
    assert set(FACTS) <= set(demo_task_ids()) <= set(scripted_task_ids())


def test_the_demonstration_shows_every_site_and_type() -> None:
    shown = [task for task in load_tasks() if int(task.task_id) in demo_task_ids()]

    assert {task.groups["type"][0] for task in shown} == {"RETRIEVE", "MUTATE", "NAVIGATE"}
    assert {site for task in shown for site in task.groups["site"]} == {
        "gitlab", "map", "reddit", "shopping", "shopping_admin",
    }  # fmt: skip


def test_a_script_is_fresh_each_time() -> None:
    assert len(list(script_for(44))) == len(list(script_for("44"))) == 2


@pytest.mark.parametrize("task_id", [1, "812", "x", "-1"])
def test_a_task_without_a_script_is_unknown(task_id: Any) -> None:
    with pytest.raises(UnknownTaskError, match="the built-in world has no task"):
        script_for(task_id)
