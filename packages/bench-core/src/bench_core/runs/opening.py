"""Opens and checks all parts of a run before its first trial: the same for `--dry-run`."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_core.agent_process.foreign import foreign_program
from bench_core.agent_process.placement import opened_agent
from bench_core.budgets import require_price
from bench_core.discovery import is_reference
from bench_core.errors import InputError
from bench_core.protocols import Agent
from bench_core.records import AgentCode, RunInfo, Task, TrialKey
from bench_core.run_folder.folder import read_run
from bench_core.run_folder.provenance import describe_run
from bench_core.run_folder.same_run import refuse_unusable_folder
from bench_core.run_folder.view import RunView
from bench_core.run_spec import RunSpec, Timeouts
from bench_core.runs.early_stopping import with_rule
from bench_core.runs.environment import RunEnvironment
from bench_core.runs.model_calls import opened_proxy
from bench_core.runs.model_check import (
    refuse_environment,
    refuse_unknown_options,
    refuse_unusable_model,
)
from bench_core.runs.resume import agent_changed, tasks_of_run, trials_to_rerun
from bench_core.runs.sealing import SealedRun, sealed_run
from bench_core.trial import Benchmark, refuse_misfit

_GB = 10**9


@dataclass(frozen=True)
class OpenedRun:
    """A run as its spec and its folder make it.

    Attributes:
        known: The run that is in the folder, if one is.
        info: The future content of `run.json`.
        tasks: Those of the run.
        skipped: Ids of those that this session leaves out.
        again: Trials that have a result and run again.
        changed: Whether the agent is another program than before.
    """

    known: RunView | None
    info: RunInfo
    tasks: Sequence[Task]
    skipped: frozenset[str]
    again: tuple[TrialKey, ...]
    changed: bool


def check_run(
    benchmark: Benchmark, spec: RunSpec, out: Path, run_environment: RunEnvironment | None = None
) -> RunInfo:
    """Return the future `run.json`, or raise the errors of `run_benchmark` before the first trial.

    Nothing is written into `out`. The agent is opened, and asks whether its model can be used, which costs nothing.

    Raises:
        InputError: The spec does not fit the benchmark, the folder or the budget, the agent does not work
            in the benchmark's environment, or its model cannot be used.
        UnknownPluginError: No installed distribution offers an agent of that name.
        RunFolderError: The folder holds another run.
    """
    return asyncio.run(_check(benchmark, spec, out, run_environment or RunEnvironment()))


async def _check(benchmark: Benchmark, spec: RunSpec, out: Path, with_: RunEnvironment) -> RunInfo:
    with (
        tempfile.TemporaryDirectory(prefix="dry-run-") as scratch,
        sealed_run(benchmark, spec, Path(scratch)) as sealed,
        opened_agents(spec, with_, sealed) as (agent_for, code),
    ):
        name = await checked_agent(benchmark, spec, out, with_, agent_for)
        opened = opened_run(benchmark, spec, out, with_, name, code)
    refuse_unusable_folder(out, opened.info, opened.tasks, redactor=with_.redactor)
    return opened.info


async def checked_agent(
    benchmark: Benchmark,
    spec: RunSpec,
    out: Path,
    with_: RunEnvironment,
    agent_for: Callable[..., Agent],
) -> str:
    """Return the name of the run's agent: its own, if it is given by its import path.

    Raises:
        InputError: It works elsewhere, or its model cannot be used; one that a program made is not checked.
    """
    if with_.agent_for is not None:
        return spec.agent
    agent = agent_for(None, None)
    refuse_misfit(benchmark, agent)
    refuse_unknown_options(benchmark, agent, spec)
    await refuse_environment(benchmark, agent, spec, out)
    await refuse_unusable_model(agent, spec, out, with_.open_model)
    own = " ".join(str(agent.name).split()) if is_reference(spec.agent) else ""
    return own or spec.agent


def opened_run(
    benchmark: Benchmark,
    spec: RunSpec,
    out: Path,
    with_: RunEnvironment,
    name: str,
    code: AgentCode,
) -> OpenedRun:
    """Return the run of `spec`, with the content of its folder; nothing is written.

    Raises:
        InputError: The spec does not fit the benchmark, the folder or the budget.
        RunFolderError: The agent has changed.
    """
    known = read_run(out) if (out / "run.json").exists() else None
    tasks, skipped = tasks_of_run(benchmark.tasks(), spec, known)
    again = trials_to_rerun(known, spec.rerun, code)
    require_price(spec.budget, spec.model, with_.price_of)
    provenance = with_.provenance
    price = with_.price_of(spec.model) if with_.price_of and spec.model else None
    info = describe_run(
        benchmark=benchmark.name,
        agent=name,
        tasks=tasks,
        model=spec.model,
        trials=spec.trials,
        seed=spec.seed,
        config=spec.settings(),
        world=spec.world,
        profile=spec.profile,
        timing=spec.timing,
        benchmark_version=provenance.benchmark_version,
        packages=provenance.packages,
        prices=(*provenance.prices, *([price] if isinstance(price, dict) else [])),
        prices_as_of=provenance.prices_as_of,
        run_id=out.resolve().name,
    ).model_copy(update={"agent_code": code})
    info = with_rule(info, spec.stopping, tasks, None if known is None else known.info)
    # another run is refused as such, when its folder is opened
    same = known is not None and known.info.config_hash == info.config_hash
    changed = same and agent_changed(known, code, again, accept=spec.accept_changes)
    return OpenedRun(known, info, tasks, skipped, again, changed)


@contextlib.contextmanager
def opened_agents(
    spec: RunSpec, with_: RunEnvironment, sealed: SealedRun
) -> Iterator[tuple[Callable[..., Agent], AgentCode]]:
    """Open the maker of each trial's agent; objects of the caller's stay in this process."""
    if with_.agent_for is not None:
        if spec.agent_process.model_proxy:
            raise InputError(
                "--model-proxy is for agents in a process of their own, not for objects"
            )
        code = AgentCode(process="shared")
        sealed.check(code)
        yield with_.agent_for, code
        return
    wanted = spec.agent_process
    with (
        opened_proxy(spec, with_.upstream) as proxy,
        opened_agent(
            spec.agent,
            process=wanted.process,
            model=spec.model,
            variables=wanted.variables,
            memory=None if wanted.memory_gb is None else int(wanted.memory_gb * _GB),
            redactor=with_.redactor,
            block_s=timeouts_of(spec, with_).agent_block_s,
            sealed=sealed.files,
            model_proxy=proxy,
            program=foreign_program(wanted),
        ) as (make, code),
    ):
        sealed.check(code)
        yield lambda *_: make(), code


def timeouts_of(spec: RunSpec, with_: RunEnvironment) -> Timeouts:
    """Return the limits by which the run's trials end: the policy's if it has one."""
    return with_.policy.timeouts if with_.policy else spec.timeouts
