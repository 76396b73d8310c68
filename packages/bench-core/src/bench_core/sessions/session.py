"""A session: one world, in it one episode after another, each scored as a trial of a run is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError
from typing_extensions import Self

from bench_core.agents import Action, Done, Observation
from bench_core.errors import InputError
from bench_core.records import Record, Status, TrialResult
from bench_core.sessions.episode import Episode
from bench_core.sessions.records import (
    EpisodeError,
    SessionBusyError,
    SessionSettings,
    SessionState,
    SessionStep,
    TaskNote,
)
from bench_core.sessions.source import SessionWorld, open_world

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)
_NOTHING = Observation()


def read_action(given: Any) -> Action:
    """Return an action of a dictionary such as `{"kind": "click", "target": {"element": "OK"}}`.

    Raises:
        InputError: It is none.
    """
    if not isinstance(given, dict):
        raise InputError(f"this is not an action: {given!r:.80}; one is {{'kind': 'click', ...}}")
    try:
        return _ACTION.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"this is not an action: {where}: {first['msg']}".replace(": : ", ": ")
        ) from error


class AsyncSession:
    """One world and one episode at a time in it; close it, or use it in `async with`.

    Only an end state that the benchmark's own rules have scored gives a reward: any other outcome
    raises `EpisodeError`, after which the session can be reset.

    Args:
        benchmark: The name of an installed benchmark, or `module:Class`.
        settings: How its world is opened.
    """

    def __init__(self, benchmark: str, settings: SessionSettings | None = None) -> None:
        self.benchmark = benchmark
        self.settings = settings or SessionSettings()
        self._opening: AbstractContextManager[SessionWorld] | None = None
        self._world: SessionWorld | None = None
        self._episode: Episode | None = None
        self._number = 0
        self._fault: EpisodeError | None = None
        self._busy = False
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def tasks(self) -> tuple[TaskNote, ...]:
        """Return the tasks.

        Raises:
            InputError: The settings do not fit the benchmark, or nothing answers.
        """
        return (await self._opened()).notes()

    async def reset(self, task: str | None = None, seed: int = 0) -> SessionStep:
        """Begin an episode, even if the one before failed.

        Args:
            task: Its id; None: one that `seed` draws.
            seed: That of the trial.

        Raises:
            EpisodeError: The environment does not open.
            UnknownTaskError: The benchmark has no such task.
            InputError: The settings do not fit the benchmark.
        """
        with self._call():
            await self._end_episode()
            self._fault = None
            world = await self._opened()
            chosen = world.task(task, seed)
            self._number += 1
            self._episode = Episode(
                world, chosen, seed, self._number, kept=self.settings.keep is not None
            )
            with self._noting():
                task_seen, seen = await self._episode.begin(self.settings.reset_s)
                return SessionStep(observation=seen, task=task_seen)

    async def step(self, *actions: Action | dict[str, Any]) -> SessionStep:
        """Do one or more actions and return one observation after them.

        Raises:
            EpisodeError: The episode ended without a score.
            InputError: The input is not an action, or no episode is open.
        """
        with self._call():
            if self._fault is not None:
                raise self._fault
            if self._episode is None:
                raise InputError("there is no episode: reset the session first")
            if self._episode.result is not None:
                raise InputError("the episode is over: reset the session for another")
            episode = self._episode
            read = [each if isinstance(each, Record) else read_action(each) for each in actions]
            with self._noting():
                seen = await episode.step(read)
            if seen is not None:
                return SessionStep(observation=seen)
            result = episode.result
            assert result is not None  # noqa: S101  # it is over, and has a score
            assert result.score is not None  # noqa: S101
            info: dict[str, JsonValue] = {
                "status": result.status.value,
                "score": result.score,
                "success": result.success,
                "steps": result.steps,
                "failure_mode": result.failure_mode.value if result.failure_mode else None,
                "flags": list(result.flags),
                "suspect": [each.value for each in result.suspect],
                "integrity": None if result.integrity is None else result.integrity.state,
            }
            return SessionStep(observation=_NOTHING, reward=result.score, done=True, info=info)

    async def score(self, answer: JsonValue = None) -> TrialResult:
        """End the episode, if it is open, with the agent's `answer` and return its record.

        Raises:
            EpisodeError: The episode has no score.
            InputError: No episode was begun.
        """
        episode = self._episode
        if self._fault is not None:
            raise self._fault
        if episode is None:
            raise InputError("there is no episode: reset the session first")
        while episode.result is None:
            await self.step(Done(answer=answer))
        return episode.result

    @property
    def state(self) -> SessionState:
        """The session's state."""
        episode, world = self._episode, self._world
        base = SessionState(
            benchmark=self.benchmark,
            world=self.settings.world if world is None else world.spec.world,
        )
        if episode is None:
            return base
        result = episode.result
        over = self._fault is not None or result is not None or episode.over
        return base.model_copy(
            update={
                "phase": "over" if over else "open",
                "episode_id": episode.episode_id,
                "task_id": episode.task.task_id,
                "goal": episode.task.goal,
                "seed": episode.seed,
                "step_count": episode.steps,
                "score": result.score if result is not None else None,
            }
        )

    async def close(self) -> None:
        """End the episode and the world; safe to call twice."""
        await self._end_episode()
        world, self._world = self._world, None
        opening, self._opening = self._opening, None
        if world is not None:
            await world.close()
        if opening is not None:
            # It ends threads and may have an event loop of its own.
            await asyncio.to_thread(opening.__exit__, None, None, None)

    async def _opened(self) -> SessionWorld:
        if self._world is None:
            opening = open_world(self.benchmark, self.settings)
            entering = asyncio.ensure_future(asyncio.to_thread(opening.__enter__))
            try:
                self._world = await asyncio.shield(entering)
            except asyncio.CancelledError:
                # A start that is cancelled half-way would leave processes running.
                await asyncio.wait({entering})
                if entering.exception() is None:
                    await asyncio.to_thread(opening.__exit__, None, None, None)
                raise
            self._opening = opening
        return self._world

    async def _end_episode(self) -> None:
        self._wake()
        if self._ending is not None:
            await asyncio.wait({self._ending})
            self._ending = None
        episode, self._episode = self._episode, None
        if episode is None:
            return
        await episode.abandon()
        if self.settings.keep is None:
            await episode.remove()

    @contextlib.contextmanager
    def _call(self) -> Iterator[None]:
        """Take one call at a time, and give the episode up if none comes for long."""
        if self._busy:
            raise SessionBusyError("another call of this session is under way: wait for its answer")
        self._busy = True
        self._wake()
        try:
            yield
        finally:
            self._busy = False
            if self._episode is not None and self._episode.result is None:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self.settings.idle_s, self._give_up)

    def _give_up(self) -> None:
        if self._episode is not None and not self._busy:
            reason = f"no call came for {self.settings.idle_s:g} s"
            self._fault = EpisodeError(reason, kind=Status.CANCELLED.value)
            self._ending = asyncio.ensure_future(self._episode.abandon())

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except EpisodeError as error:
            self._fault = error
            raise

    def _wake(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
