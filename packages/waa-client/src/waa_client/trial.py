"""One trial on one VM: reset, set up, let the agent work, evaluate what it left.

Faults of VM, evaluator and provider are raised and never become a score. What the agent does wrong is
its own, and the state it leaves is evaluated all the same.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import AsyncExitStack
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from bench_core.agents.records import ActionResult
from bench_core.agents.remote import serve_environment
from bench_core.artifacts import TRAJECTORY, TrialArtifacts
from bench_core.errors import BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.records import AgentOutcome, ErrorInfo, Status, Step
from waa_client.actions import Block
from waa_client.agents.loading import DesktopAgent, view_of
from waa_client.desktop import WaaDesktop
from waa_client.evaluation import EvaluationClient, new_key
from waa_client.pace import pace_of
from waa_client.resetting import reset
from waa_client.setting_up import Preparer
from waa_client.vm import VmClient, VmOptions, calls

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentTask, Task
    from bench_core.redaction import Redactor
    from waa_client.demonstrations import Demonstration
    from waa_client.evaluation import SetupReport, Verdict
    from waa_client.pace import Clock
    from waa_client.settings import WaaSettings

__all__ = ["EVALUATION", "HISTORY", "SETUP", "TRANSCRIPT", "WaaTrial"]

HISTORY = "action_history.json"
"""Every action as vanilla records it; what is evaluated beside the VM's state."""
EVALUATION = "evaluation.json"
"""The verdict, without its transcript."""
TRANSCRIPT = "transcript.json.gz"
"""Every call of the evaluation to the VM: what rescoring replays."""
SETUP = "setup.json"
"""How each step of the set-up went."""

_NOT_THE_AGENTS_FAULT = (EnvironmentFaultError, BudgetExceededError, InputError)
_T = TypeVar("_T")
_OBSERVE_S = 900.0
_OVERTIME_S = 10.0


class WaaTrial:
    """One attempt of `agent` at `task` on the VM at `url`; `timings` fills while it runs."""

    def __init__(  # noqa: PLR0913  # one collaborator each, all named
        self,
        task: Task,
        agent: Agent | DesktopAgent,
        context: TrialContext,
        *,
        url: str,
        evaluator: str | None,
        settings: WaaSettings,
        clock: Clock,
        redactor: Redactor,
        options: VmOptions,
        demonstration: Demonstration | None = None,
    ) -> None:
        self.task = task
        self.context = context
        self.started = datetime.now(timezone.utc)
        self.timings: dict[str, float] = {}
        self.artifacts = TrialArtifacts(context.folder, redactor)
        self.demonstration = demonstration
        self.url = url
        self.setup: SetupReport | None = None
        self.history: list[str] = []
        self.flags: dict[str, None] = {}
        self.screen: tuple[int, int] | None = None
        self._agent = agent
        self._evaluator_url = evaluator
        self._settings = settings
        self._clock = clock
        self._options = options
        self._pace = pace_of(context.profile)

    async def run(self) -> tuple[AgentOutcome, Verdict | None]:
        """Run the trial; without an evaluator the verdict is null.

        Raises:
            EnvironmentFaultError: The VM, the evaluator or the model provider failed.
            EvaluationError: The evaluator refuses the task.
            BudgetExceededError: The run's budget is spent.
        """
        async with AsyncExitStack() as stack:
            vm = await stack.enter_async_context(VmClient(self.url, self._options))
            evaluator = await self._open_evaluator(stack)
            await self._timed("environment", self._prepare(vm, evaluator))
            desktop = WaaDesktop(vm, view_of(self._agent, self.context), self._pace, self._clock)
            outcome = await self._timed("agent", self._let_work(desktop))
            await self._end(desktop, outcome)
            if evaluator is None or not outcome.status.scored:
                return outcome, None
            return outcome, await self._timed("evaluation", self._evaluate(evaluator))

    async def _timed(self, phase: str, work: Coroutine[Any, Any, _T]) -> _T:
        began = time.monotonic()
        try:
            return await work
        finally:
            self.timings[phase] = time.monotonic() - began

    async def _open_evaluator(self, stack: AsyncExitStack) -> EvaluationClient | None:
        """Connect to the evaluator and see that it is there, before an agent spends money."""
        if self._evaluator_url is None:
            return None
        client = EvaluationClient(self._evaluator_url, timeout_s=self._settings.evaluation_s)
        evaluator = await stack.enter_async_context(client)
        await evaluator.health()
        return evaluator

    async def _prepare(self, vm: VmClient, evaluator: EvaluationClient | None) -> None:
        flags = await reset(vm, self._pace, self._clock, self._settings.reset_command)
        self.flags |= dict.fromkeys(flags)
        if evaluator is not None and self._settings.setup == "server":
            self.setup = await evaluator.set_up(self.task.config)
        else:
            self.setup = await Preparer(vm, self._clock, self._cache()).set_up(self.task.config)
        self.artifacts.write_json(SETUP, self.setup.model_dump(mode="json"))
        _refuse_abandoned(self.setup, self.task)
        if not self.setup.ok:
            self.flags["setup_incomplete"] = None  # vanilla goes on, and so does this
        await self._clock.sleep(self._pace.after_setup_s)
        self.screen = await vm.send(calls.screen_size())

    def _cache(self) -> Path | None:
        from pathlib import Path  # noqa: PLC0415  # only with a cache

        return Path(self._settings.asset_cache) if self._settings.asset_cache else None

    async def _let_work(self, desktop: WaaDesktop) -> AgentOutcome:
        """Let the agent work; how it ended is its outcome, unless something else failed."""
        try:
            if isinstance(self._agent, DesktopAgent):
                work = self._agent.run_on(desktop, self._for_agent(), self.context)
                return await self._bounded(work)
            async with serve_environment(desktop) as handle:
                seen = handle.model_copy(update={"screen": self.screen, "timeout_s": _OBSERVE_S})
                work = self._agent.run(self._for_agent(), seen, self.context)
                return await self._bounded(work)
        finally:
            self.history = list(desktop.history)
            self.flags |= desktop.flags
            if desktop.fault is not None:
                # whatever the agent made of it: it worked on a desktop that was not there
                raise desktop.fault

    async def _bounded(self, work: Coroutine[Any, Any, AgentOutcome]) -> AgentOutcome:
        limit = self.context.limits.time_limit_s
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task}, timeout=None if limit is None else limit + _OVERTIME_S)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._settings.stop_agent_s)
        return _reported(task)

    def _for_agent(self) -> AgentTask:
        seen = self.task.for_agent().model_copy(update={"limits": self.context.limits})
        if self.demonstration is None:
            return seen
        inputs = {**seen.inputs, "demonstration": self.demonstration.text}
        return seen.model_copy(update={"inputs": inputs})

    async def _end(self, desktop: WaaDesktop, outcome: AgentOutcome) -> None:
        """Record how the agent ended, as vanilla's history does: DONE, FAIL or neither."""
        word = _last_word(outcome)
        if word is not None and self.history[-1:] not in (["DONE"], ["FAIL"]):
            await desktop.run(Block(code=word))
            self.history.append(word)
        self.artifacts.write_json(HISTORY, self.history, evidence=True)
        if not self.artifacts.path(TRAJECTORY).is_file():
            for number, done in enumerate(desktop.performed, 1):
                result = ActionResult(ok=done.error is None, error=done.error)
                self.artifacts.append_step(_step(number, done.block, result))

    async def _evaluate(self, evaluator: EvaluationClient) -> Verdict:
        verdict = await evaluator.evaluate(self.task.config, self.history, key=new_key())
        self.artifacts.write_json(TRANSCRIPT, await evaluator.transcript(verdict), evidence=True)
        brief = {name: each for name, each in verdict.raw.items() if name != "transcript"}
        self.artifacts.write_json(EVALUATION, brief, evidence=True)
        return verdict


def _refuse_abandoned(report: SetupReport, task: Task) -> None:
    """A step that raises ends the set-up, and vanilla gives the task up without a score."""
    asked = task.config.get("config")
    if isinstance(asked, list) and len(report.steps) < len(asked):
        last = report.steps[-1] if report.steps else None
        said = f"{last.type}: {last.error}" if last else "no step ran"
        raise EnvironmentFaultError(
            f"the set-up ended at step {len(report.steps)} of {len(asked)}: {said}"
        )


def _last_word(outcome: AgentOutcome) -> str | None:
    if "gave_up" in outcome.flags:
        return "FAIL"
    return "DONE" if outcome.status is Status.COMPLETED else None


def _step(number: int, block: Block, result: ActionResult) -> Step:
    action: dict[str, Any] = (
        {"kind": block.code.lower()}
        if block.special
        else {"kind": "code", "code": block.code, "language": block.language}
    )
    return Step(step=number, actions=(action,), results=(result.error or "",), error=result.error)


def _reported(task: asyncio.Task[AgentOutcome]) -> AgentOutcome:
    """Return what the agent reports; what it raises is its own failure unless it says otherwise."""
    if not task.done() or task.cancelled():
        return AgentOutcome(status=Status.TIME_LIMIT)
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, _NOT_THE_AGENTS_FAULT) or not isinstance(error, Exception):
        raise error
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    info = ErrorInfo(
        kind=type(error).__name__,
        message=str(error) or type(error).__name__,
        phase="agent",
        traceback="".join(lines),
    )
    return AgentOutcome(status=Status.AGENT_ERROR, error=info)
