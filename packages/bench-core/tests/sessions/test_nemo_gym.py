"""NeMo Gym's resources server: seeded, stepped, verified; what has no score is masked."""

from __future__ import annotations

import asyncio
import http.client
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from asking_server import LATE_S, TOKEN, fetch
from counting_benchmark import OPEN, Faulty

from bench_core.sessions import SessionSettings
from bench_core.sessions.nemo_gym import OPEN_PATHS, NemoGymServer, dataset_lines
from bench_core.sessions.serving import Limits, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Post = Callable[..., Awaitable[tuple[int, Any]]]

COUNTING = "counting_benchmark:Counting"
MORE = {"kind": "click", "target": {"element": "More"}}


@asynccontextmanager
async def posting(sessions: int = 2) -> AsyncIterator[Post]:
    limits = Limits(sessions=sessions)
    server = NemoGymServer(COUNTING, SessionSettings(), limits)
    async with serve(server.handle, token=TOKEN, open_paths=OPEN_PATHS, limits=limits) as url:

        async def post(path: str, cookie: str = "", **body: Any) -> tuple[int, Any]:
            headers = {"Cookie": f"session_id={cookie}"} if cookie else {}
            return await asyncio.to_thread(fetch, url, "POST", path, body, **headers)

        try:
            yield post
        finally:
            await server.close()
    assert OPEN == []


@pytest.mark.asyncio
async def test_a_solved_row_is_verified_with_its_score() -> None:
    async with posting() as post:
        seeded = (await post("/seed_session", task_id="1", seed=3))[1]
        assert "Press More." in seeded["observation"]["text"]
        assert "presses" in seeded["observation"]["text"]
        place = seeded["env_id"]
        step = (await post("/step", place, action=MORE))[1]
        assert (step["reward"], step["done"]) == (0.0, False)
        verified = (await post("/verify", place, task_id="1", response={"output": []}))[1]
        assert (verified["reward"], verified["mask_sample"]) == (1.0, False)
        assert verified["response"] == {"output": []}
        again = (await post("/verify", place))[1]
        assert again["reward"] == 1.0


@pytest.mark.asyncio
async def test_an_action_may_be_json_text_as_models_write_it() -> None:
    async with posting() as post:
        place = (await post("/seed_session", task_id="1"))[1]["env_id"]
        await post("/step", place, action=json.dumps(MORE))
        done = (await post("/step", place, action={"kind": "done"}))[1]
        assert (done["reward"], done["terminated"]) == (1.0, True)
        wrong = (await post("/step", place, action="nonsense"))[1]
        assert wrong["error"]


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["open", "act", "capture", "evaluate"])
async def test_a_row_without_a_score_is_masked_and_has_no_reward(where: str) -> None:
    async with posting() as post:
        with Faulty("1", where):
            place = (await post("/seed_session", task_id="1"))[1]["env_id"]
            await post("/step", place, action=MORE)
            verified = (await post("/verify", place, task_id="1"))[1]
        assert verified["mask_sample"] is True
        assert "reward" not in verified
        assert verified["failure_kind"] in {"environment_error", "evaluation_error"}
        assert where in verified["failure_reason"]
        again = (await post("/verify", place, task_id="1", reward=1.0))[1]
        assert "reward" not in again


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "body"),
    [("/seed_session", {"task_id": "1"}), ("/step", {"action": MORE}), ("/step", {"action": []}),
     ("/verify", {}), ("/no_such_tool", {})],
)  # fmt: skip
async def test_every_answer_names_the_session(path: str, body: dict[str, Any]) -> None:
    server = NemoGymServer(COUNTING, SessionSettings())
    async with serve(server.handle, token=TOKEN, open_paths=OPEN_PATHS) as url:
        try:
            seeded = await asyncio.to_thread(fetch, url, "POST", "/seed_session", {"task_id": "1"})
            place = seeded[1]["env_id"]
            named = await asyncio.to_thread(_cookie_of, url, path, body, place)
        finally:
            await server.close()
    assert named.startswith(f"session_id={place};")


def _cookie_of(url: str, path: str, body: dict[str, Any], place: str) -> str:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LATE_S)
    headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": f"session_id={place}"}
    try:
        connection.request("POST", path, json.dumps(body), headers)
        return connection.getresponse().getheader("set-cookie") or ""
    finally:
        connection.close()


@pytest.mark.asyncio
async def test_sessions_are_bounded_and_make_room_when_closed_or_over() -> None:
    async with posting(sessions=1) as post:
        place = (await post("/seed_session", task_id="1"))[1]["env_id"]
        assert (await post("/seed_session", task_id="1"))[0] == 503
        await post("/verify", place)
        status, seeded = await post("/seed_session", task_id="1")
        assert status == 200
        await post("/close", seeded["env_id"])
        assert (await post("/step", seeded["env_id"], action=MORE))[0] == 404
        # a client without cookies names its session
        seeded = (await post("/seed_session", task_id="1"))[1]
        await post("/close", env_id=seeded["env_id"])
        assert (await post("/step", env_id=seeded["env_id"], action=MORE))[0] == 404
        assert (await post("/seed_session", task_id="none"))[0] == 422


@pytest.mark.asyncio
async def test_metrics_leave_masked_rows_out() -> None:
    async with posting() as post:
        rows = [{"reward": 1.0}, {"reward": 0.0}, {"mask_sample": True}]
        metrics = (await post("/aggregate_metrics", verify_responses=rows))[1]["key_metrics"]
        assert metrics == {"mean/reward": 0.5, "scored": 2, "masked": 1}


def test_the_data_set_has_a_row_for_each_task_and_no_answers() -> None:
    rows = [json.loads(each) for each in dataset_lines(COUNTING, SessionSettings())]
    assert [each["task_id"] for each in rows] == ["1", "2", "3", "4", "5"]
    assert rows[1]["responses_create_params"]["input"][1]["content"] == "Count to 2."
    assert '"to"' not in json.dumps(rows)
