"""Checks before a run: refuses causes that would fail every trial, and warns about partial failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bench_core.agent_process import agent_of
from bench_core.errors import InputError
from bench_core.models import model_of
from bench_core.protocols import Agent, TrialContext
from bench_core.records import Task, World
from bench_core.run_spec import RunSpec, select_tasks
from bench_core.trial import Benchmark, refuse_misfit
from waa_client.agents.guide import GUIDE
from waa_client.installed import Installed, installed_on, missing_text, started_programs
from waa_client.task_health import task_warnings
from waa_client.vm import VmClient, VmOptions
from waa_client.world.launch import ServerAnswers, look_around

_NOT_RESTORED = (
    "nothing restores the VMs between trials: what one leaves can make a later one succeed without doing anything; "
    "add --reset-command or a provider's VMs, or --check-before, which flags such trials"
)
_OVER_MODELS = frozenset({"computer-use", "tool-calling", "vision"})


def preflight(
    benchmark: Benchmark,
    spec: RunSpec,
    vms: Sequence[str] = (),
    evaluators: Sequence[str] = (),
    *,
    restored: bool = False,
) -> tuple[World, list[str]]:
    """Refuse a run in which every trial would fail; return the run's world and warnings.

    Refused are an agent that cannot be loaded or whose options lead nowhere, a model without its key,
    VMs none of which answers - unless a command restores them before each trial - and simulations
    mixed with real VMs. The world is the one that the VMs report.

    Args:
        benchmark: Its tasks are all that can be run.
        spec: The run's spec.
        vms: Base URLs; none if each trial has its own desktop.
        evaluators: Base URLs.
        restored: Whether a command restores VMs before each trial.

    Raises:
        InputError: The run is refused; the message names the reason and a fix.
    """
    context = TrialContext(
        run_id="preflight", folder=Path(), agent=spec.agent, model=spec.model, config=spec.config
    )
    with agent_of(spec) as agent:
        refuse_misfit(benchmark, agent)
        # for other worlds the agent itself checks before the run begins
        replayed = context.agent_option("replay_calls")
        if spec.agent in _OVER_MODELS and not spec.agent_process.is_foreign and not replayed:
            model_of(context, cassette=None)
        world, warnings = _look_around(spec.world, vms, evaluators, restored=restored)
        chosen = select_tasks(benchmark.tasks(), spec.tasks, spec.seed)
        if world != "built-in" and not restored:
            warnings += asyncio.run(_lacking(vms, chosen))
        _refuse_unusable(agent, chosen, context.model_copy(update={"world": world}))
    return world, [*warnings, *task_warnings(chosen)]


async def _lacking(vms: Sequence[str], tasks: Sequence[Task]) -> list[str]:
    """Return a sentence for each VM that lacks programs which the tasks start."""
    programs = {
        name: each for task in tasks for name, each in started_programs(task.config).items()
    }

    async def ask(url: str) -> Installed:
        async with VmClient(url, VmOptions(tries=1)) as vm:
            return await installed_on(vm, programs)

    found = await asyncio.gather(*map(ask, vms)) if programs else []
    return [
        missing_text(url, each.missing, tasks)
        for url, each in zip(vms, found, strict=False)
        if each.missing
    ]


def _refuse_unusable(agent: Agent, tasks: Sequence[Task], context: TrialContext) -> None:
    """Refuse an agent that cannot work on one of the tasks."""
    if agent.name == "scripted" and GUIDE.solver is not None:
        for task in tasks:
            GUIDE.solver(task.for_agent(), context)
    check = getattr(agent, "check", None)
    if callable(check):
        check([task.task_id for task in tasks], context)


def _look_around(
    asked: World, vms: Sequence[str], evaluators: Sequence[str], *, restored: bool
) -> tuple[World, list[str]]:
    """Return the run's world and warnings, from the answers of VMs and evaluators."""
    if not vms:
        return asked, []
    found = look_around(vms, evaluators)
    # a VM that a command restores may be off before its first trial
    warnings = [] if restored else _silent(vms, found)
    world, corrected = _world(found, asked, vms)
    if world == "real" and not restored:
        warnings.append(_NOT_RESTORED)
    return world, [*corrected, *warnings]


def _silent(urls: Sequence[str], found: ServerAnswers) -> list[str]:
    """Return warnings about the VMs that do not answer.

    Raises:
        InputError: None of them answers.
    """
    if len(found.faults) == len(urls):
        raise InputError(
            f"no VM answers ({'; '.join(found.faults.values())}): `waa-client probe --vm "
            f"{','.join(urls)}` shows what is wrong"
        )
    return [f"{fault}; the others are used meanwhile" for fault in found.faults.values()]


def _world(found: ServerAnswers, asked: World, vms: Sequence[str]) -> tuple[World, list[str]]:
    """Return the world of a run, from the answers rather than from options, and warnings.

    Raises:
        InputError: Some are simulations, or under Wine, and some are not.
    """
    simulated = [url for url, world in found.worlds.items() if world == "built-in"]
    if not simulated and asked == "built-in" and found.worlds:
        raise InputError(
            f"{', '.join(found.worlds)} do not report that they are simulations: leave --world built-in "
            f"out, or --vm"
        )
    under_wine = [url for url, world in found.worlds.items() if world == "wine"]
    if not simulated and not under_wine:
        return asked, []
    if under_wine and not simulated:
        # an evaluator does not know that its VM runs under Wine
        if windows := [url for url in vms if found.worlds.get(url) == "real"]:
            raise InputError(
                f"{', '.join(under_wine)} run under Wine and {', '.join(windows)} do not: a run is on one world, "
                f"give one kind of VM"
            )
        return "wine", [f"{', '.join(under_wine)} run under Wine: the run is recorded as wine"]
    if real := [url for url in found.worlds if url not in simulated]:
        raise InputError(
            f"{', '.join(simulated)} are simulations and {', '.join(real)} are not: a run is on one "
            f"world, give one kind of VM"
        )
    warning = f"{', '.join(simulated)} simulate a desktop: the run is recorded as built-in"
    return "built-in", [] if asked == "built-in" else [warning]
