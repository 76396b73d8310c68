"""One episode: a trial of `bench_core.trial` whose agent is the session's caller."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from bench_core.agents import Action, Decision, LoopAgent, Observation, named_targets
from bench_core.errors import InputError
from bench_core.files import folder_name
from bench_core.files.removal import remove_folder
from bench_core.processes import ProcessGroups
from bench_core.protocols import EnvironmentHandle, TrialContext
from bench_core.records import AgentCode, AgentOutcome, AgentTask, Status, Task, TrialResult
from bench_core.run_folder import TrialArtifacts
from bench_core.run_spec import effective_limits
from bench_core.sessions.records import EpisodeError
from bench_core.sessions.source import AGENT, SessionWorld
from bench_core.trial import AgentLimits, run_trial
from bench_core.trial.results import fault_fields, unscored_result

_END_S = 3.0
_ACTIONS_S = 600.0
RESULT = "result.json"
"""The record of an episode, if its files are kept."""


class Episode:
    """A trial under way.

    Args:
        world: The trial's world.
        task: The task to try.
        seed: The trial's own.
        number: Counts the episodes of a session, from 1.
        kept: Whether its record is written next to its artifacts.
    """

    def __init__(
        self, world: SessionWorld, task: Task, seed: int, number: int, *, kept: bool = False
    ) -> None:
        self.task = task
        self.seed = seed
        self.episode_id = f"{number:04d}-{folder_name(task.task_id)}"
        self.steps = 0
        self.result: TrialResult | None = None
        self._world = world
        self._kept = kept
        self._processes = ProcessGroups()
        self._turns = _Turns()
        folder = world.folder / self.episode_id
        folder.mkdir(parents=True, exist_ok=True)
        self._context = self._conditions(folder).with_processes(self._processes)
        self._work: asyncio.Task[TrialResult] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, with or without a score."""
        return self._work is not None and self._work.done()

    async def begin(self, longest_s: float) -> tuple[AgentTask, Observation]:
        """Open the environment and return the agent's view of the task, and the first observation.

        Raises:
            EpisodeError: The environment does not open.
        """
        timeouts = self._world.spec.timeouts
        limits = AgentLimits(fallback_s=timeouts.fallback_deadline_s)
        self._work = asyncio.create_task(
            run_trial(
                self._world.benchmark,
                self.task,
                self._context,
                self._turns,
                limits=limits,
                code=AgentCode(process="shared"),
            )
        )
        seen = await self._next(longest_s)
        if seen is None:  # its time was over before it began
            raise EpisodeError("the episode ended before its first observation", result=self.result)
        assert self._turns.task is not None  # noqa: S101  # it saw something
        return self._turns.task, seen

    async def step(self, actions: Sequence[Action]) -> Observation | None:
        """Do `actions` in order and return the observation afterwards; None when the episode is over.

        Raises:
            EpisodeError: The episode is over without a score.
        """
        if self.over:  # its time is over, perhaps since the last call
            await self._concluded()
            return None
        self.steps += 1
        self._turns.take(actions)
        return await self._next(_ACTIONS_S + self._world.spec.timeouts.evaluation_grace_s)

    async def abandon(self) -> None:
        """End the episode without a score, and everything that it started."""
        work = self._work
        if work is not None and not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=_END_S)
        # Nothing may go on acting on the world in which the next episode begins.
        await asyncio.to_thread(self._processes.kill)
        if work is not None and work.done() and not work.cancelled():
            work.exception()  # looked at here, or asyncio complains

    async def remove(self) -> None:
        """Delete the files that the episode left."""
        await asyncio.to_thread(remove_folder, self._context.folder)

    async def _next(self, longest_s: float) -> Observation | None:
        """Wait for the next observation, or for the end."""
        work, turn = self._work, asyncio.create_task(self._turns.seen())
        assert work is not None  # noqa: S101  # begun
        try:
            await asyncio.wait({work, turn}, timeout=longest_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await self._concluded()
                return None
            if turn.done():
                return turn.result()
        finally:
            turn.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await turn
        await self.abandon()
        raise EpisodeError(f"the environment did not answer within {longest_s:g} s")

    async def _concluded(self) -> TrialResult:
        """Return the record of an episode that has a score.

        Raises:
            EpisodeError: The episode has none.
            InputError: The request cannot be tried.
        """
        if self.result is None:
            self.result = self._recorded()
            await asyncio.to_thread(self._processes.kill)
            if self._kept:
                artifacts = TrialArtifacts(self._context.folder)
                artifacts.write_json(RESULT, self.result.model_dump(mode="json"))
        result = self.result
        if result.score is None:
            reason = result.error.message if result.error is not None else result.status.value
            raise EpisodeError(reason, kind=result.status.value, result=result)
        return result

    def _recorded(self) -> TrialResult:
        work = self._work
        assert work is not None  # noqa: S101  # begun
        if work.cancelled():
            raise EpisodeError("the episode was given up", kind=Status.CANCELLED.value)
        raised = work.exception()
        if raised is None:
            return work.result()
        if isinstance(raised, InputError) or not isinstance(raised, Exception):
            raise raised
        fields = fault_fields(raised, "environment", after_work=False)
        return unscored_result(self.task, self._context, fields)

    def _conditions(self, folder: object) -> TrialContext:
        spec, sealed = self._world.spec, self._world.sealed
        return TrialContext.model_validate(
            {
                "run_id": AGENT,
                "folder": folder,
                "seed": self.seed,
                "agent": AGENT,
                "world": spec.world,
                "profile": spec.profile,
                "timing": spec.timing,
                "limits": effective_limits(self.task.limits, spec.limits),
                "config": spec.config,
                "hidden": () if sealed.files is None else sealed.files.hidden,
                "unsealed": sealed.reason,
            }
        )


class _Turns:
    """The trial's agent: it sees the session's observations and carries out the caller's actions."""

    name = AGENT
    # It acts on the opened environment itself, without a server between.
    in_process = True
    observes = ("screenshot", "elements", "windows")

    def __init__(self) -> None:
        self._observations: asyncio.Queue[Observation] = asyncio.Queue()
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()
        self._latest: Observation | None = None
        self.task: AgentTask | None = None

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        self.task = task
        return await LoopAgent(AGENT, lambda *_: self).run(task, environment, context)

    async def act(self, observation: Observation) -> Decision:
        self._observations.put_nowait(observation)
        return await self._decisions.get()

    async def seen(self) -> Observation:
        self._latest = await self._observations.get()
        return self._latest

    def take(self, actions: Sequence[Action]) -> None:
        elements = () if self._latest is None else self._latest.elements
        aimed = tuple(named_targets(each, elements) for each in actions)
        self._decisions.put_nowait(Decision(actions=aimed))
