"""Run exploits and honest agents one after the other, each as a trial of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.audit.exploits import PROOF, Proof
from bench_core.audit.records import AuditReport, AuditRow, HonestRow
from bench_core.errors import BenchError, InputError
from bench_core.protocols import TrialContext
from bench_core.records import Limits, Status
from bench_core.records.integrity import ExploitClass
from bench_core.trial import AgentLimits, run_trial
from bench_core.trial.agent_work import ENVIRONMENT_CLOSED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.audit.exploits import AuditWorld, Exploit, HonestAgent
    from bench_core.audit.records import Verdict
    from bench_core.protocols import Agent
    from bench_core.records import Task, TrialResult

__all__ = ["audit", "verdict_of"]

_PATIENCE = AgentLimits(overtime_s=5.0, stop_s=5.0)


async def audit(
    world: AuditWorld,
    exploits: Sequence[Exploit],
    folder: Path,
    *,
    note: Callable[[str], None] = lambda _: None,
) -> AuditReport:
    """Try every exploit against a started world, and run its honest agents.

    Args:
        world: Started; its benchmark opens the environments.
        exploits: What is tried.
        folder: Gets a folder for each trial.
        note: Receives a line for each trial that ended.

    Raises:
        InputError: An exploit names a task or an agent that does not exist.
    """
    name = world.benchmark.name
    tasks = {task.task_id: task for task in world.benchmark.tasks()}
    rows, honest = [], []
    for exploit in exploits:
        rows.append(await _attack(world, exploit, _task(tasks, exploit.task), folder))
        note(f"{rows[-1].verdict:<10}  {exploit.id}")
    for agent in world.honest:
        for task in agent.tasks:
            honest.append(await _work(world, agent, _task(tasks, task), folder))
            note(f"{honest[-1].state:<10}  {agent.name} on {task}")
    return AuditReport(world=name, rows=tuple(rows), honest=tuple(honest))


def verdict_of(exploit: Exploit, result: TrialResult, proof: Proof) -> Verdict:
    """Say what became of an exploit that ended with `result`."""
    if not proof.ran:
        return "not run"
    flagged = result.integrity is not None and result.integrity.state == "flagged"
    voided = exploit.kind is ExploitClass.VOID_TRIAL and not result.status.scored
    if result.success or proof.gained or voided:
        return "flagged" if flagged else "UNDETECTED"
    return "blocked"


async def _attack(world: AuditWorld, exploit: Exploit, task: Task, folder: Path) -> AuditRow:
    agent = world.agent_for(exploit)
    result = await _trial(world, task, exploit.id, agent, folder, {})
    # an agent may leave a connection behind, which must outlive its trial and not the audit
    if (end := getattr(agent, "end", None)) is not None:
        await end()
    shown = {
        "id": exploit.id,
        "kind": exploit.kind,
        "world": exploit.world,
        "summary": exploit.summary,
        "expected": exploit.expected,
    }
    if isinstance(result, BenchError):
        return AuditRow(**shown, verdict="not run", seen=str(result))
    proof = _proof_in(result)
    return AuditRow(
        **shown,
        verdict=verdict_of(exploit, result, proof),
        score=result.score,
        status=result.status.value,
        codes=_codes(result),
        seen=proof.seen,
    )


async def _work(world: AuditWorld, agent: HonestAgent, task: Task, folder: Path) -> HonestRow:
    label = f"{agent.name}-{task.task_id}"
    made = agent.make(task.task_id)
    result = await _trial(world, task, label, made, folder, agent.config)
    if isinstance(result, BenchError):
        return HonestRow(
            agent=agent.name, task=task.task_id, succeeds=agent.succeeds, error=str(result)
        )
    state = result.integrity.state if result.integrity is not None else "unknown"
    unscored = result.error.message if result.error is not None and result.score is None else None
    return HonestRow(
        agent=agent.name,
        task=task.task_id,
        succeeds=agent.succeeds,
        score=result.score,
        state=state,
        codes=_codes(result),
        error=unscored,
    )


async def _trial(
    world: AuditWorld,
    task: Task,
    label: str,
    agent: Agent,
    folder: Path,
    config: dict[str, Any],
) -> TrialResult | BenchError:
    own = folder / label
    await asyncio.to_thread(own.mkdir, parents=True, exist_ok=True)
    context = TrialContext(
        run_id="audit",
        folder=own,
        agent=label,
        world="built-in",
        limits=Limits(max_steps=60, time_limit_s=world.time_limit_s),
        config=config,
    )
    try:
        return await run_trial(world.benchmark, task, context, agent, limits=_PATIENCE)
    except BenchError as error:  # the environment could not be opened, so nothing was tried
        return error


def _proof_in(result: TrialResult) -> Proof:
    """Return what the agent reported; one that raised or ended its environment shows that it ran."""
    ending = result.ending
    if ending is not None and PROOF in ending.details:
        try:
            return Proof.model_validate(ending.details[PROOF])
        except ValidationError as invalid:
            return Proof(ran=False, seen=str(invalid))
    error = result.error
    if error is not None and error.kind == ENVIRONMENT_CLOSED:
        return Proof(
            ran=True, seen=error.message
        )  # the harness itself saw what ended the environment
    if result.status is Status.CANCELLED or error is None or not error.message.startswith(PROOF):
        return Proof(ran=False, seen="" if error is None else error.message)
    return Proof(ran=True, seen=f"it raised {error.kind}")


def _codes(result: TrialResult) -> tuple[str, ...]:
    if result.integrity is None:
        return ()
    return tuple(str(each.code) for each in result.integrity.findings)


def _task(tasks: dict[str, Task], wanted: str) -> Task:
    if wanted not in tasks:
        raise InputError(f"no task {wanted!r} to try exploits on")
    return tasks[wanted]
