"""NeMo Gym's resources server over sessions, and the data set that goes with it.

A row's session is seeded at `/seed_session`, stepped at `/step`, and scored at `/verify`; a cookie names it.
If an episode has no score, `/verify` gives `mask_sample` with the kind and the reason of the failure and no
reward at all, so that nothing is trained on it (NVIDIA-NeMo/Gym issue 2608).
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue, ValidationError

from bench_core.agents.ending import answer_from_text
from bench_core.errors import BenchError, InputError
from bench_core.records import AgentTask, Record
from bench_core.runs.prepare import Purpose
from bench_core.sessions.records import EpisodeError, SessionSettings
from bench_core.sessions.serving import Exchange, Limits, RefusedError
from bench_core.sessions.session import AsyncSession, read_action
from bench_core.sessions.source import open_world
from bench_core.sessions.views import View, shown

COOKIE = "session_id"
OPEN_PATHS = frozenset({"/health"})
_SYSTEM = (
    "You operate a computer to carry out one task. Act with the tool `step`, one action at a time; when the "
    "task is done call it with the kind `done` and what was asked for as `answer`, in the form asked for."
)


class _Row(Record):
    """The part of a data set's row that selects the episode."""

    task_id: str | None = None
    seed: int = 0
    view: View = "text"


@dataclass
class _Client:
    """A client and its session.

    Attributes:
        name: The value of its cookie, and its `env_id`.
        row: The row of its episode.
        reward: Of the episode, once it is over; None without a score.
        fault: Why the episode has no score.
        task: What the agent was asked; tells in which form an answer is.
    """

    name: str
    session: AsyncSession
    row: _Row = field(default_factory=_Row)
    reward: float | None = None
    fault: EpisodeError | None = None
    task: AgentTask | None = None


class NemoGymServer:
    """Answers NeMo Gym's agents.

    Args:
        benchmark: The name of an installed benchmark.
        settings: How the world of each session is opened.
        limits: How many sessions at once; one that is seeded beyond that is refused with 503.
    """

    def __init__(
        self, benchmark: str, settings: SessionSettings, limits: Limits | None = None
    ) -> None:
        self.benchmark = benchmark
        self._settings = settings
        self._limits = limits or Limits()
        self._clients: dict[str, _Client] = {}

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            await self._answer(exchange)
        except RefusedError as error:
            client = self._clients.get(exchange.cookie(COOKIE) or "")
            if client is None:
                raise
            # a model that calls a tool that does not exist, or wrongly, keeps its session
            await exchange.answer(error.status, {"detail": str(error)}, _cookie(client.name))

    async def _answer(self, exchange: Exchange) -> None:
        method, path = exchange.request.method, exchange.path
        if (method, path) == ("GET", "/health"):
            await exchange.answer(200, {"status": "healthy"})
        elif (method, path) == ("GET", "/reverify_mode"):
            # A score follows from the world as it was left, which is gone by then.
            await exchange.answer(200, {"reverify_mode": "not_supported"})
        elif (method, path) == ("POST", "/seed_session"):
            await self._seed(exchange)
        elif (method, path) == ("POST", "/step"):
            body = await exchange.body()
            client = self._client_of(exchange, body)
            given = body.get("action", {name: body[name] for name in body if name != "env_id"})
            if isinstance(given, str):
                with suppress(ValueError, RecursionError):
                    given = json.loads(given)
            await exchange.answer(200, await self._acted(client, given), _cookie(client.name))
        elif (method, path) == ("POST", "/verify"):
            await self._verify(exchange)
        elif (method, path) == ("POST", "/close"):
            body = await exchange.body()
            await self._end(str(body.get("env_id") or exchange.cookie(COOKIE) or ""))
            await exchange.answer(200, {"message": "closed"})
        elif (method, path) == ("POST", "/aggregate_metrics"):
            await exchange.answer(200, _metrics(await exchange.body()))
        else:
            raise RefusedError(404, f"there is no {method} {path[:200]}")

    async def close(self) -> None:
        """End all sessions."""
        await asyncio.gather(*(self._end(each) for each in list(self._clients)))

    async def _seed(self, exchange: Exchange) -> None:
        body = await exchange.body()
        try:
            row = _Row.model_validate(
                {each: body[each] for each in _Row.model_fields if each in body}
            )
        except ValidationError as error:
            raise RefusedError(422, str(error.errors(include_url=False)[0]["msg"])) from error
        client = self._clients.get(exchange.cookie(COOKIE) or "")
        if client is None:
            await self._drop_finished()
            if len(self._clients) >= self._limits.sessions:
                raise RefusedError(503, f"all {self._limits.sessions} sessions are in use")
            name = secrets.token_urlsafe(24)
            client = _Client(name, AsyncSession(self.benchmark, self._settings))
            self._clients[name] = client
        client.row, client.reward, client.fault = row, None, None
        answer: dict[str, Any] = {"env_id": client.name}
        try:
            step = await client.session.reset(row.task_id, row.seed)
            client.task = step.task
            answer |= {"observation": shown(step, row.view)}
            answer |= {"goal": client.session.state.goal, "error": None}
        except EpisodeError as error:
            client.fault = error
            answer |= {"observation": None, **_masked(error)}
        except InputError as error:
            await self._end(client.name)
            raise RefusedError(422, str(error)) from error
        await exchange.answer(200, answer, _cookie(client.name))

    async def _acted(self, client: _Client, given: Any) -> dict[str, Any]:
        if client.fault is not None:
            return _without_score(client.fault)
        try:
            step = await client.session.step(read_action(given))
        except EpisodeError as error:
            client.fault = error
            return _without_score(error)
        except BenchError as error:
            # the agent reads its own mistakes
            return {"observation": None, "done": False, "error": str(error)}
        if step.done:
            client.reward = float(step.reward)
        # Rewards of steps are summed by some agents, so only the last one is other than 0.
        return {
            "observation": shown(step, client.row.view),
            "reward": float(step.reward),
            "done": step.done,
            "terminated": step.done,
            "truncated": False,
            "error": None,
            "info": step.info,
        }

    async def _verify(self, exchange: Exchange) -> None:
        body = await exchange.body()
        client = self._client_of(exchange, body)
        if client.reward is None and client.fault is None:
            try:
                answer: JsonValue = _answer_in(body)
                if client.task is not None and isinstance(answer, str):
                    answer = answer_from_text(client.task, answer)
                result = await client.session.score(answer)
                client.reward = float(result.score or 0.0)
            except EpisodeError as error:
                client.fault = error
        verdict: dict[str, Any] = {"reward": client.reward, "mask_sample": False}
        if client.fault is not None:
            verdict = _masked(client.fault)
        # a row that is verified again must not bring the reward that it was given before
        row = {key: value for key, value in body.items() if key != "reward"}
        await exchange.answer(200, {**row, **verdict}, _cookie(client.name))

    def _client_of(self, exchange: Exchange, body: dict[str, Any]) -> _Client:
        client = self._clients.get(str(body.get("env_id") or exchange.cookie(COOKIE) or ""))
        if client is None:
            raise RefusedError(404, "there is no such session: call /seed_session first")
        return client

    async def _end(self, name: str) -> None:
        client = self._clients.pop(name, None)
        if client is not None:
            await client.session.close()

    async def _drop_finished(self) -> None:
        """Make room: a client that got its verdict may never close."""
        if len(self._clients) < self._limits.sessions:
            return
        for name, client in list(self._clients.items()):
            if client.session.state.phase == "over":
                await self._end(name)
                return


def dataset_lines(benchmark: str, settings: SessionSettings) -> Iterator[str]:
    """Yield a line of JSON for each task, as `ng_collect_rollouts` reads them.

    Raises:
        InputError: The settings do not fit the benchmark.
    """
    tool = {
        "type": "function",
        "name": "step",
        "description": "Do one action and see what it did.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "object", "description": "an action with its `kind`"}
            },
            "required": ["action"],
        },
        "strict": False,
    }
    with open_world(benchmark, settings, Purpose.TASKS) as world:
        notes = world.notes()
    for note in notes:
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": note.goal},
        ]
        row = {
            "responses_create_params": {"input": messages, "tools": [tool]},
            "task_id": note.task_id,
            "seed": 0,
            "benchmark": benchmark,
        }
        yield json.dumps(row, ensure_ascii=False)


def _cookie(name: str) -> dict[str, str]:
    """Return the header that names a session; clients keep the cookies of the latest answer alone."""
    return {"set-cookie": f"{COOKIE}={name}; HttpOnly; SameSite=Strict; Path=/"}


def _masked(error: EpisodeError) -> dict[str, Any]:
    return {
        "mask_sample": True,
        "failure_kind": error.kind,
        "failure_reason": error.reason,
        "error": str(error),
    }


def _without_score(error: EpisodeError) -> dict[str, Any]:
    return {
        "observation": None,
        "done": True,
        "terminated": False,
        "truncated": True,
        **_masked(error),
    }


def _answer_in(body: dict[str, Any]) -> str | None:
    """Return the last text of the model's response, the answer of an agent that never called `done`."""
    response = body.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    for item in reversed(output if isinstance(output, list) else []):
        content = item.get("content") if isinstance(item, dict) else None
        for part in reversed(content if isinstance(content, list) else []):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return str(part["text"])
    return None


def _metrics(body: dict[str, Any]) -> dict[str, Any]:
    """Average the rewards of those that have one, and count the others."""
    rows = body.get("verify_responses")
    rows = [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []
    rewards = [each["reward"] for each in rows if isinstance(each.get("reward"), int | float)]
    mean = sum(rewards) / len(rewards) if rewards else None
    metrics = {"mean/reward": mean, "scored": len(rewards), "masked": len(rows) - len(rewards)}
    return {"agent_metrics": metrics, "key_metrics": metrics, "group_level_metrics": []}
