"""Sessions for programs without an event loop: one, or several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from bench_core.agents import Action
from bench_core.background_loop import BackgroundLoop
from bench_core.closing import Closing
from bench_core.errors import BenchError, InputError
from bench_core.records import TrialResult
from bench_core.sessions.records import SessionSettings, SessionState, SessionStep, TaskNote
from bench_core.sessions.session import AsyncSession


class Session(Closing):
    """One session, each call of which waits for its answer; see `AsyncSession`.

    Args:
        benchmark: The name of an installed benchmark.
        task: The task of each reset that names none; None draws one by the reset's seed.
        settings: How the world is opened.
    """

    def __init__(
        self, benchmark: str, *, task: str | None = None, settings: SessionSettings | None = None
    ) -> None:
        self._session = AsyncSession(benchmark, settings)
        self._task = task
        self._begun = False
        self._loop = BackgroundLoop("sessions")

    def tasks(self) -> tuple[TaskNote, ...]:
        """Return the tasks."""
        return self._loop.call(self._session.tasks())

    def reset(self, task: str | None = None, seed: int = 0) -> SessionStep:
        """Begin an episode; see `AsyncSession.reset`."""
        self._begun = True
        return self._loop.call(self._session.reset(task or self._task, seed))

    def step(self, *actions: Action | dict[str, Any]) -> SessionStep:
        """Do one or more actions; the first call resets the session if needed. See `AsyncSession.step`."""
        if not self._begun:
            self.reset()
        return self._loop.call(self._session.step(*actions))

    def score(self, answer: JsonValue = None) -> TrialResult:
        """End the episode and return its record; see `AsyncSession.score`."""
        if not self._begun:
            self.reset()
        return self._loop.call(self._session.score(answer))

    @property
    def state(self) -> SessionState:
        """The session's state."""
        return self._session.state

    def close(self) -> None:
        """End the episode and the world; safe to call twice."""
        if self._loop.closed:
            return
        try:
            self._loop.call(self._session.close())
        finally:
            self._loop.close()


class SessionGroup(Closing):
    """Several sessions of one benchmark, each with a world of its own, that step at once.

    One that fails does not stop the others: its place in the results holds the error, an `EpisodeError` if
    the episode has no score, which must be masked, never counted as a reward, and an `InputError` if
    its input is not an action: its episode goes on.

    Args:
        benchmark: The name of an installed benchmark.
        size: The number of sessions.
        settings: How each world is opened.
    """

    def __init__(
        self, benchmark: str, size: int, *, settings: SessionSettings | None = None
    ) -> None:
        self._sessions = [AsyncSession(benchmark, settings) for _ in range(size)]
        self._loop = BackgroundLoop("sessions")

    def __len__(self) -> int:
        return len(self._sessions)

    def tasks(self) -> tuple[TaskNote, ...]:
        """Return the tasks."""
        return self._loop.call(self._sessions[0].tasks())

    def reset(
        self, tasks: Sequence[str | None], seeds: Sequence[int] | None = None
    ) -> list[SessionStep | BenchError]:
        """Begin an episode in each session.

        Args:
            tasks: One for each; None draws it by the seed.
            seeds: One for each, by default 0, 1, 2, ...

        Raises:
            InputError: There are not as many as sessions, or none of them accepts its input.
        """
        given = range(len(tasks)) if seeds is None else seeds
        self._refuse_others(tasks)
        self._refuse_others(given)
        begun = self._loop.call(
            self._all(
                each.reset(task, seed)
                for each, task, seed in zip(self._sessions, tasks, given, strict=True)
            )
        )
        if begun and all(isinstance(each, InputError) for each in begun):
            raise begun[0]
        return begun

    def step(
        self, actions: Sequence[Action | dict[str, Any] | None]
    ) -> list[SessionStep | BenchError | None]:
        """Do one action in each session; None leaves a session alone.

        Raises:
            InputError: There are not as many as sessions.
        """
        self._refuse_others(actions)

        async def one(session: AsyncSession, action: Any) -> SessionStep | None:
            return None if action is None else await session.step(action)

        return self._loop.call(
            self._all(
                one(each, action) for each, action in zip(self._sessions, actions, strict=True)
            )
        )

    @property
    def states(self) -> list[SessionState]:
        """Each session's state."""
        return [each.state for each in self._sessions]

    def close(self) -> None:
        """End all; safe to call twice."""
        if self._loop.closed:
            return
        try:
            closed = self._loop.call(self._all(each.close() for each in self._sessions))
            for each in closed:
                if isinstance(each, InputError):
                    raise each
        finally:
            self._loop.close()

    def _refuse_others(self, given: Sequence[object]) -> None:
        if len(given) != len(self._sessions):
            raise InputError(f"{len(given)} values are given for {len(self._sessions)} sessions")

    @staticmethod
    async def _all(calls: Any) -> list[Any]:
        done = await asyncio.gather(*calls, return_exceptions=True)
        for each in done:
            if isinstance(each, BaseException) and not isinstance(each, BenchError):
                raise each
        return list(done)


def open(  # noqa: A001  # reads well as `sessions.open`
    benchmark: str,
    *,
    task: str | None = None,
    settings: SessionSettings | None = None,
    **given: Any,
) -> Session:
    """Open a session; `given` are fields of `SessionSettings`.

    Raises:
        InputError: A setting does not exist.
    """
    return Session(benchmark, task=task, settings=_settings(settings, given))


def open_many(
    benchmark: str, size: int, *, settings: SessionSettings | None = None, **given: Any
) -> SessionGroup:
    """Open several sessions; `given` are fields of `SessionSettings`.

    Raises:
        InputError: A setting does not exist.
    """
    return SessionGroup(benchmark, size, settings=_settings(settings, given))


def _settings(settings: SessionSettings | None, given: dict[str, Any]) -> SessionSettings:
    base = {} if settings is None else dict(settings)
    try:
        return SessionSettings.model_validate({**base, **given})
    except ValueError as error:
        raise InputError(f"these are no settings of a session: {error}") from error
