"""The OpenEnv server, asked as its clients ask: a WebSocket for each session, HTTP for the rest."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from asking_server import LATE_S, TOKEN, fetch
from counting_benchmark import OPEN, Faulty
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bench_core.sessions import SessionSettings
from bench_core.sessions.openenv import OPEN_PATHS, OpenEnvServer
from bench_core.sessions.serving import Limits, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COUNTING = "counting_benchmark:Counting"
MORE = {"kind": "click", "target": {"element": "More"}}


@asynccontextmanager
async def served(**limits: int) -> AsyncIterator[tuple[str, OpenEnvServer]]:
    bounds = Limits(**limits)
    server = OpenEnvServer(COUNTING, SessionSettings(), bounds)
    async with serve(server.handle, token=TOKEN, open_paths=OPEN_PATHS, limits=bounds) as url:
        yield url, server


class Client:
    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def ask(self, kind: str, /, **data: Any) -> dict[str, Any]:
        return await self.send(json.dumps({"type": kind, "data": data}))

    async def send(self, text: str) -> dict[str, Any]:
        await self.socket.send(text)
        return json.loads(await asyncio.wait_for(self.socket.recv(), LATE_S))


@asynccontextmanager
async def client_of(url: str, token: str = TOKEN) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    where = url.replace("http://", "ws://") + "/ws"
    async with connect(where, additional_headers=headers, proxy=None) as socket:
        yield Client(socket)


async def ended(server: OpenEnvServer) -> None:
    for _ in range(int(LATE_S / 0.05)):
        if not server.active:
            return
        await asyncio.sleep(0.05)


@pytest.mark.asyncio
async def test_a_solved_task_ends_with_its_score_and_steps_give_nothing() -> None:
    async with served() as (url, _), client_of(url) as client:
        seen = await client.ask("reset", task="2", seed=5)
        assert seen["type"] == "observation"
        assert seen["data"]["observation"]["goal"] == "Count to 2."
        assert seen["data"]["observation"]["instructions"] == "Press More."
        assert "presses" in seen["data"]["observation"]["answer_schema"]["properties"]
        assert seen["data"]["observation"]["can_fail"] is True
        assert (seen["data"]["reward"], seen["data"]["done"]) == (0.0, False)
        for _ in range(2):
            assert (await client.ask("step", **MORE))["data"]["reward"] == 0.0
        last = await client.ask("step", kind="done")
        assert (last["data"]["reward"], last["data"]["done"]) == (1.0, True)
        assert last["data"]["metadata"]["status"] == "completed"
        state = (await client.ask("state"))["data"]
        assert (state["step_count"], state["seed"], state["task_id"]) == (3, 5, "2")


@pytest.mark.asyncio
async def test_a_task_is_chosen_by_split_and_index() -> None:
    async with served() as (url, _), client_of(url) as client:
        seen = await client.ask("reset", split="all", index=3, episode_id="mine")
        assert seen["data"]["observation"]["task_id"] == "4"
        assert (await client.ask("state"))["data"]["episode_id"] == "mine"
        assert (await client.ask("reset", index=99))["data"]["code"] == "EXECUTION_ERROR"
        assert "no split" in (await client.ask("reset", split="train"))["data"]["message"]


@pytest.mark.asyncio
async def test_the_text_view_is_one_text() -> None:
    async with served() as (url, _), client_of(url) as client:
        seen = await client.ask("reset", task="1", view="text")
        text = seen["data"]["observation"]["text"]
        assert '[1] button "More"' in text
        assert all(each in text for each in ("Press More.", "presses", "`done`", "`fail`"))
        assert "elements" not in seen["data"]["observation"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[" * 3000, "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ('{"type": "reset", "data": {"seed": "x"}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"kind": "explode"}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"kind": "done", "extra": 1}}', "VALIDATION_ERROR"),
    ],
)
async def test_what_is_no_message_is_an_error_and_the_session_goes_on(text: str, code: str) -> None:
    async with served() as (url, _), client_of(url) as client:
        await client.ask("reset", task="1")
        answer = await client.send(text)
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        await client.ask("step", **MORE)
        assert (await client.ask("step", kind="done"))["data"]["reward"] == 1.0


@pytest.mark.asyncio
async def test_no_injected_fault_gives_a_final_frame_with_a_reward() -> None:
    # the campaign's number: each kind of fault at random places of many episodes
    draw = random.Random(28)  # noqa: S311  # seeded on purpose
    places = ("open", "observe", "act", "capture", "evaluate")
    kinds = []
    async with served() as (url, _), client_of(url) as client:
        for _ in range(200):
            with Faulty("1", draw.choice(places)):
                frames = [await client.ask("reset", task="1")]
                for action in (MORE, MORE, {"kind": "done"}):
                    if frames[-1]["type"] == "error":
                        break
                    frames.append(await client.ask("step", **action))
            assert not any(each["data"].get("done") for each in frames)
            assert frames[-1]["type"] == "error"
            kinds.append(frames[-1]["data"]["failure_kind"])
    assert set(kinds) == {"environment_error", "evaluation_error"}


@pytest.mark.asyncio
async def test_as_many_sessions_as_are_allowed_and_one_more_is_told_so() -> None:
    async with served(sessions=2) as (url, server):
        async with client_of(url) as first, client_of(url) as second, client_of(url) as third:
            await first.ask("reset", task="1")
            await second.ask("reset", task="1")
            refused = json.loads(await asyncio.wait_for(third.socket.recv(), LATE_S))
            assert refused["data"]["code"] == "CAPACITY_REACHED"
            assert refused["data"]["max_sessions"] == 2
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(third.socket.recv(), LATE_S)
        await ended(server)
        async with client_of(url) as again:
            assert (await again.ask("reset", task="1"))["type"] == "observation"


@pytest.mark.asyncio
async def test_sixteen_sessions_at_once_give_the_same_results() -> None:
    async def episode(url: str, number: int) -> float:
        async with client_of(url) as client:
            await client.ask("reset", task="2")
            for _ in range(number % 4):
                await client.ask("step", **MORE)
            return float((await client.ask("step", kind="done"))["data"]["reward"])

    async with served(sessions=16) as (url, _):
        rewards = await asyncio.gather(*(episode(url, number) for number in range(16)))
    assert rewards == [float(number % 4 == 2) for number in range(16)]


@pytest.mark.asyncio
async def test_nothing_of_a_session_is_left_when_its_socket_drops() -> None:
    async with served() as (url, server):
        async with client_of(url) as client:
            await client.ask("reset", task="1")
            assert OPEN == ["1"]
            client.socket.transport.abort()
        await ended(server)
        assert (OPEN, server.active) == ([], 0)


@pytest.mark.asyncio
async def test_who_has_no_token_gets_nothing_but_what_says_nothing() -> None:
    async with served() as (url, _):
        with pytest.raises(InvalidStatus, match="401"):
            async with client_of(url, token="wrong"):
                pass
        status, _ = await asyncio.to_thread(
            fetch, url, "POST", "/counting_benchmark:Counting/tasks", {}, Authorization="Bearer x"
        )
        assert status == 401
        for path in sorted(OPEN_PATHS - {"/mcp"}):
            answer = await asyncio.to_thread(fetch, url, "GET", path, Authorization="")
            assert answer[0] == 200
        answer = await asyncio.to_thread(fetch, url, "POST", "/mcp", {}, Authorization="")
        assert (answer[0], answer[1]["jsonrpc"]) == (200, "2.0")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "[::1]evil"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ],
)
async def test_pages_of_browsers_are_refused(headers: dict[str, str], status: int) -> None:
    async with served() as (url, _):
        answer = await asyncio.to_thread(fetch, url, "GET", "/health", **headers)
        assert answer[0] == status


@pytest.mark.asyncio
async def test_a_message_that_is_too_long_ends_its_session() -> None:
    async with served(message_bytes=1000) as (url, server):
        async with client_of(url) as client:
            await client.socket.send("x" * 2000)
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(client.socket.recv(), LATE_S)
        await ended(server)
        assert server.active == 0
        path = "/counting_benchmark:Counting/tasks"
        body = {"split": "x" * 2000}
        answer = await asyncio.to_thread(fetch, url, "POST", path, body)
        assert answer[0] == 413


@pytest.mark.asyncio
async def test_the_task_api_lists_tasks_without_their_answers() -> None:
    async with served() as (url, _):
        base = f"/{COUNTING}"

        async def post(what: str, **body: Any) -> Any:
            return (await asyncio.to_thread(fetch, url, "POST", f"{base}/{what}", body))[1]

        splits = await asyncio.to_thread(fetch, url, "GET", f"{base}/splits")
        assert splits == (200, [{"name": "all", "type": "test"}])
        assert (await post("num_tasks", split="all")) == {"num_tasks": 5}
        first = (await post("tasks", split="all"))["tasks"][0]
        assert first == {"task_id": "1", "goal": "Count to 1.", "groups": {}}
        assert (await post("task", index=4))["task"]["task_id"] == "5"
        assert len((await post("task_range", start=1, stop=3))["tasks"]) == 2
        assert (await post("task", index=5)) == {"detail": "Invalid task index"}
        assert "409" in str(await asyncio.to_thread(fetch, url, "POST", "/reset", {}))
