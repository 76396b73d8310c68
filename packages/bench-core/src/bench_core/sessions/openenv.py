"""OpenEnv's protocol (https://github.com/huggingface/OpenEnv, 0.10) over sessions.

A session lives on one WebSocket at `/ws`. Its steps give 0.0 and its last one the score; an episode without
a score is an error frame, never a frame with a reward, because clients take a missing reward for 0.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bench_core.__about__ import __version__
from bench_core.agents import Action, Observation
from bench_core.errors import BenchError, InputError
from bench_core.records import Record
from bench_core.runs.prepare import Purpose
from bench_core.sessions.records import (
    EpisodeError,
    SessionSettings,
    SessionState,
    SessionStep,
    TaskNote,
)
from bench_core.sessions.serving import Exchange, Limits, RefusedError
from bench_core.sessions.session import AsyncSession, read_action
from bench_core.sessions.source import open_world
from bench_core.sessions.views import View, shown
from bench_core.sessions.websocket import Socket

OPEN_PATHS = frozenset({"/health", "/metadata", "/schema", "/openapi.json", "/mcp"})
"""Paths that `openenv validate --url` requests without headers; none reveals a session."""

_LOOK_S = 0.05
_SPLITS = ("all",)
_STATELESS = (
    "sessions live on the WebSocket /ws alone: this route would begin and end one with each call"
)
_INVALID_JSON, _UNKNOWN_TYPE, _VALIDATION, _EXECUTION, _CAPACITY = (
    "INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR", "CAPACITY_REACHED",
)  # fmt: skip


class _Reset(Record):
    """A client's choices at a reset; `task` is an id, `index` a place in the task list."""

    seed: int | None = None
    episode_id: str | None = Field(default=None, max_length=200)
    task: str | None = None
    task_id: str | None = None
    split: str | None = None
    index: int | None = Field(default=None, ge=0)
    view: View = "full"


class _Frame(Record):
    type: str
    data: dict[str, Any] = Field(default_factory=dict)


class _TaskQuery(Record):
    split: str = "all"
    index: int = Field(default=0, ge=0)
    start: int | None = Field(default=None, ge=0)
    stop: int | None = Field(default=None, ge=0)


class OpenEnvServer:
    """Answers the requests of OpenEnv clients.

    Args:
        benchmark: The name of an installed benchmark.
        settings: How the world of each session is opened.
        limits: How many sessions at once.
    """

    def __init__(
        self, benchmark: str, settings: SessionSettings, limits: Limits | None = None
    ) -> None:
        self.benchmark = benchmark
        self.active = 0
        self._settings = settings
        self._limits = limits or Limits()
        self._tasks: tuple[TaskNote, ...] | None = None
        self._reading = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait until the worlds of sessions that are over have ended.

        A remaining one would end during the interpreter's exit, when threads no longer answer: the
        server would then hang.
        """
        while self.active:  # noqa: ASYNC110  # only when the server ends
            await asyncio.sleep(_LOOK_S)

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request; a WebSocket is a whole session."""
        if exchange.path == "/ws" and exchange.upgrades:
            await self._session(exchange)
            return
        method, path = exchange.request.method, exchange.path
        fixed: dict[tuple[str, str], Callable[[], object]] = {
            ("GET", "/health"): lambda: {"status": "healthy"},
            ("GET", "/metadata"): lambda: {
                "name": self.benchmark,
                "description": f"Tasks of {self.benchmark} in {self._settings.world} worlds, scored by the "
                "benchmark's own rules. A reward is a score; an episode without one is an error.",
                "version": __version__,
                "documentation_url": None,
            },
            ("GET", "/schema"): lambda: {
                "action": TypeAdapter(Action).json_schema(),
                "observation": Observation.model_json_schema(mode="serialization"),
                "state": SessionState.model_json_schema(mode="serialization"),
            },
            ("GET", "/openapi.json"): self._openapi,
            ("GET", "/list_environments"): lambda: [self.benchmark],
            ("GET", f"/{self.benchmark}/splits"): lambda: [
                {"name": each, "type": "test"} for each in _SPLITS
            ],
        }
        if (method, path) in fixed:
            await exchange.answer(200, fixed[method, path]())
        elif (method, path) == ("POST", "/mcp"):
            await exchange.body()
            error = {"code": -32601, "message": "no MCP tools: act by the WebSocket /ws"}
            await exchange.answer(200, {"jsonrpc": "2.0", "id": None, "error": error})
        elif path in {"/reset", "/step", "/state", "/ws"}:
            raise RefusedError(409, _STATELESS)
        elif method == "POST" and path.startswith(f"/{self.benchmark}/"):
            await exchange.answer(200, await self._task_api(exchange))
        else:
            raise RefusedError(404, f"there is no {method} {path[:200]}")

    async def _task_api(self, exchange: Exchange) -> object:
        what = exchange.path.rpartition("/")[2]
        try:
            query = _TaskQuery.model_validate(await exchange.body())
        except ValidationError as error:
            raise RefusedError(422, _first(error)) from error
        if query.split not in _SPLITS:
            raise RefusedError(400, f"there is no split {query.split!r}: there is {_SPLITS[0]!r}")
        tasks = [each.model_dump(mode="json") for each in await self._known_tasks()]
        if what == "tasks":
            return {"tasks": tasks, "env_name": self.benchmark}
        if what == "num_tasks":
            return {"num_tasks": len(tasks)}
        if what == "task_range":
            return {"tasks": tasks[query.start : query.stop]}
        if what != "task":
            raise RefusedError(404, f"there is no {what!r}")
        if query.index >= len(tasks):
            raise RefusedError(400, "Invalid task index")
        return {"task": tasks[query.index]}

    async def _known_tasks(self) -> tuple[TaskNote, ...]:
        async with self._reading:
            if self._tasks is None:

                def read() -> tuple[TaskNote, ...]:
                    with open_world(self.benchmark, self._settings, Purpose.TASKS) as world:
                        return world.notes()

                try:
                    self._tasks = await asyncio.to_thread(read)
                except BenchError as error:
                    raise RefusedError(503, str(error)) from error
            return self._tasks

    async def _session(self, exchange: Exchange) -> None:
        socket = Socket(exchange)
        if not await socket.accept():
            return
        if self.active >= self._limits.sessions:
            message = f"all {self._limits.sessions} sessions are in use"
            more = {"active_sessions": self.active, "max_sessions": self._limits.sessions}
            await socket.send(_error(_CAPACITY, message, **more))
            await socket.close(1013, "capacity")
            return
        self.active += 1
        session = AsyncSession(self.benchmark, self._settings)
        reading = asyncio.create_task(socket.read())
        talking = asyncio.create_task(_Talk(session, socket, self._known_tasks).talk())
        try:
            # a session ends with its socket, also in the middle of a step
            await asyncio.wait({reading, talking}, return_when=asyncio.FIRST_COMPLETED)
            if talking.done():
                await socket.close()
        finally:
            for each in (talking, reading):
                each.cancel()
            # the server's own end, which may cancel this any time, must not leave the world behind
            ending = asyncio.create_task(self._ended(session, talking, reading))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await asyncio.shield(ending)

    async def _ended(self, session: AsyncSession, *calls: asyncio.Task[None]) -> None:
        try:
            await asyncio.gather(*calls, return_exceptions=True)
            await session.close()
        finally:
            self.active -= 1

    def _openapi(self) -> dict[str, Any]:
        done = {"200": {"description": "Successful Response"}}
        refused = {"409": {"description": _STATELESS}}
        paths = {
            "/health": {"get": {"responses": done}},
            "/metadata": {"get": {"responses": done}},
            "/schema": {"get": {"responses": done}},
            "/mcp": {"post": {"responses": done}},
            "/reset": {"post": {"responses": refused}},
            "/step": {"post": {"responses": refused}},
            "/state": {"get": {"responses": refused}},
            "/list_environments": {"get": {"responses": done}},
            f"/{self.benchmark}/splits": {"get": {"responses": done}},
            **{
                f"/{self.benchmark}/{each}": {"post": {"responses": done}}
                for each in ("tasks", "num_tasks", "task", "task_range")
            },
        }
        info = {"title": f"Proctor: {self.benchmark}", "version": __version__}
        return {"openapi": "3.1.0", "info": info, "paths": paths}


class _Talk:
    """The messages of one session."""

    def __init__(self, session: AsyncSession, socket: Socket, tasks: Any) -> None:
        self.session = session
        self.socket = socket
        self._tasks = tasks
        self._view: View = "full"
        self._episode_id: str | None = None

    async def talk(self) -> None:
        """Answer each message until one ends the session, or the other side is gone."""
        while (text := await self.socket.receive()) is not None:
            answer = await self.answer(text)
            if answer is None:
                return
            await self.socket.send(answer)

    async def answer(self, text: str) -> str | None:
        """Return the answer to one message; None if it ends the session."""
        try:
            frame = _Frame.model_validate(json.loads(text))
        except ValidationError as error:
            return _error(_VALIDATION, _first(error))
        except (ValueError, RecursionError) as error:
            return _error(_INVALID_JSON, f"Invalid JSON: {error}")
        if frame.type == "close":
            return None
        try:
            return await self._answer(frame)
        except Exception as error:  # noqa: BLE001  # also a plugin's error: the client learns that no reward exists
            return _failed(error, frame.type)

    async def _answer(self, frame: _Frame) -> str:
        if frame.type == "reset":
            return await self._reset(_Reset.model_validate(frame.data))
        if frame.type == "step":
            data = {name: value for name, value in frame.data.items() if name != "metadata"}
            return self._observation(await self.session.step(read_action(data)))
        if frame.type == "state":
            state = self.session.state.model_dump(mode="json")
            return _text("state", {**state, "episode_id": self._episode_id or state["episode_id"]})
        return _error(_UNKNOWN_TYPE, f"Unknown message type: {frame.type[:100]}")

    async def _reset(self, asked: _Reset) -> str:
        self._view, self._episode_id = asked.view, asked.episode_id
        if asked.split is not None and asked.split not in _SPLITS:
            raise InputError(f"there is no split {asked.split!r}: there is {_SPLITS[0]!r}")
        task = asked.task or asked.task_id
        if asked.index is not None:
            tasks = await self._tasks()
            if asked.index >= len(tasks):
                raise InputError(f"there are {len(tasks)} tasks, and none of index {asked.index}")
            task = tasks[asked.index].task_id
        step = await self.session.reset(task, asked.seed or 0)
        state = self.session.state
        return self._observation(step, task_id=state.task_id, goal=state.goal)

    def _observation(self, step: SessionStep, **more: Any) -> str:
        data: dict[str, Any] = {
            "observation": {**more, **shown(step, self._view)},
            "reward": float(step.reward),
            "done": step.done,
        }
        if step.info:
            data["metadata"] = step.info
        return _text("observation", data)


def _text(kind: Literal["observation", "state", "error"], data: object) -> str:
    return json.dumps({"type": kind, "data": data}, separators=(",", ":"))


def _error(code: str, message: str, **more: Any) -> str:
    return _text("error", {"message": message, "code": code, **more})


def _failed(error: Exception, kind: str) -> str:
    if isinstance(error, ValidationError):
        return _error(_VALIDATION, _first(error))
    if isinstance(error, EpisodeError):
        more = {"failure_kind": error.kind, "failure_reason": error.reason}
        return _error(_EXECUTION, str(error), **more)
    if isinstance(error, InputError) and kind == "step":
        return _error(_VALIDATION, str(error))
    if isinstance(error, BenchError):
        return _error(_EXECUTION, str(error))
    return _error(_EXECUTION, f"{type(error).__name__}: {error}")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
