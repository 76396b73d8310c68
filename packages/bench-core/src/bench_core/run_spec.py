"""The specification of a run: which tasks, how often, by which agent and within which limits."""

from __future__ import annotations

import difflib
import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path  # pydantic reads the annotation
from typing import Annotated, Literal, overload

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt

from bench_core.budgets import Budget
from bench_core.checkers import read_findings
from bench_core.errors import InputError, UnknownTaskError
from bench_core.records import Attempt, Limits, Record, Resource, Task, TrialKey, World
from bench_core.seeded import seeded

__all__ = [
    "AgentProcessSpec",
    "ExecutorSpec",
    "LookSpec",
    "PlannedTrial",
    "RunSpec",
    "TaskFilter",
    "Timeouts",
    "plan_trials",
    "select_tasks",
]

_NEAR_IDS = 3
_SEED_BYTES = 4
_SEED_MASK = 0x7FFF_FFFF


class TaskFilter(Record):
    """Which of a benchmark's tasks a run takes; everything given must hold.

    Attributes:
        ids: Only these, in the benchmark's order.
        groups: Name to accepted values: a task is taken when it has one of them.
        tags: A task must have all of them.
        checker: `strict` takes only tasks whose checker refuses every wrong end state that an audit has tried.
        checker_audit: A file of `tasks --checkers --json`, instead of the audit that comes with the benchmark.
        limit: Most tasks to take, the first ones left after `sample`.
        sample: Number of tasks drawn at random with the run's seed, in the benchmark's order.
    """

    ids: tuple[str, ...] = ()
    skip_ids: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    checker: Literal["strict"] | None = None
    checker_audit: Path | None = None
    limit: PositiveInt | None = None
    sample: PositiveInt | None = None


class Timeouts(Record):
    """When the scheduler stops waiting, in seconds.

    Attributes:
        evaluation_grace_s: A trial may take this much longer than its agent for its evaluation,
            before its hard deadline ends it without a score.
        fallback_deadline_s: How long the agent of a trial without a time limit may work; None means no limit.
        cancel_grace_s: How long a cancelled trial may clean up before it is abandoned.
        loop_block_s: How long a trial may block the event loop before the process is aborted;
            None never aborts.
        agent_block_s: How long an agent in a process of its own may block its event loop, without a
            model call or a line of log, before it is ended; None never ends it.
    """

    evaluation_grace_s: NonNegativeFloat = 120.0
    fallback_deadline_s: Annotated[float, Field(gt=0)] | None = 3600.0
    cancel_grace_s: NonNegativeFloat = 10.0
    loop_block_s: Annotated[float, Field(gt=0)] | None = 60.0
    # Agents that are not asynchronous block it for each model call, and providers' clients wait 600 s.
    agent_block_s: Annotated[float, Field(gt=0)] | None = 660.0

    def deadline_s(self, limits: Limits) -> float | None:
        """Return after how many seconds an attempt under `limits` is ended without a score."""
        working_s = self.fallback_deadline_s if limits.time_limit_s is None else limits.time_limit_s
        return None if working_s is None else working_s + self.evaluation_grace_s


class ExecutorSpec(Record):
    """The executor of attempts; the same run may go on with another.

    Attributes:
        kind: `inline`, in the process of the run, or `ray`, by workers of a Ray cluster.
        address: The cluster's, None for one that is started on this machine for the time of the run.
        bind: `NAME=LABEL` each: users of the resource NAME run only on nodes that carry the label.
        artifacts: `s3://BUCKET/PREFIX`, to which workers put the files of trials; None is the run folder. Each result
            names its own place.
    """

    kind: Literal["inline", "ray"] = "inline"
    address: str | None = None
    bind: tuple[str, ...] = ()
    artifacts: str | None = None


class AgentProcessSpec(Record):
    """The process an agent works in, and the limits of one of its own.

    Attributes:
        process: `own` or `shared` with the run; None: `own`, except for Proctor's own agents.
        memory_gb: Gigabytes that a process of its own may write to; None means no limit.
        variables: Environment variables it gets in addition to the system's and its model provider's.
        model_proxy: Whether its model calls go by a proxy of the run's, which has the key and counts
            them; then it works in a process of its own.
        python: The interpreter it runs in, or the base of `environment`.
        environment: Requirement of the environment that uv makes for it: `uv:REQUIREMENT[ REQUIREMENT...]`.
        command: A program that speaks the protocol of agents' processes itself.
    """

    process: Literal["own", "shared"] | None = None
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    variables: tuple[str, ...] = ()
    model_proxy: bool = False
    python: str | None = None
    environment: str | None = None
    command: str | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether the agent runs in another program than the run's own interpreter."""
        return not (self.python is None and self.environment is None and self.command is None)


class LookSpec(Record):
    """The rule by which a run may stop early; fixed with the first trial (`run.json`: `stopping_rule`).

    Attributes:
        looks: How often to look, at complete random batches of tasks.
        against: The run folder or baseline file compared with.
        rule: Name of an installed stopping rule.
        settings: The other settings of the rule.
    """

    looks: PositiveInt
    against: Path
    rule: str = "obrien-fleming"
    settings: dict[str, JsonValue] = Field(default_factory=dict)


class RunSpec(Record):
    """All settings of a run, as one record.

    Attributes:
        profile: Which rules score.
        timing: How fast the harness acts, if the benchmark has a choice.
        limits: Override the tasks' own limits if they are set.
        attempts: How often a trial is tried when its environment fails.
        max_consecutive_faults: After how many equal faults in a row a site, a VM, the model or the
            evaluator counts as out of order; None for never.
        site_locks: `rw` holds resources as tasks declare them, `exclusive` holds all alone.
        stopping: Whether and how the run may stop before all its trials have run.
        agent_process: The process the agent works in, which each result names.
        sealing: Whether answers are hidden from agents and their browsers: if the machine can do
            so, always or not at all; `require` runs nothing if it cannot.
        rerun: Which trials with a result run again: `failed`, `unscored`, `suspect`, `all`, or ids of
            tasks.
        accept_changes: Continue a run although its agent's program has changed.
        config: Settings for the benchmark and the agent, handed to every trial.
    """

    tasks: TaskFilter = TaskFilter()
    trials: PositiveInt = 1
    workers: PositiveInt = 1
    seed: int = 0
    agent: str = Field(min_length=1)
    model: str | None = None
    world: World = "real"
    profile: str = "official"
    timing: str | None = None
    limits: Limits = Limits()
    budget: Budget = Budget()
    attempts: PositiveInt = 2
    max_consecutive_faults: PositiveInt | None = 5
    site_locks: Literal["rw", "exclusive"] = "rw"
    timeouts: Timeouts = Timeouts()
    stopping: LookSpec | None = None
    agent_process: AgentProcessSpec = AgentProcessSpec()
    executor: ExecutorSpec = ExecutorSpec()
    sealing: Literal["auto", "require", "off"] = "auto"
    rerun: tuple[str, ...] = ()
    accept_changes: bool = False
    config: dict[str, JsonValue] = Field(default_factory=dict)

    def settings(self) -> dict[str, JsonValue]:
        """Return the settings that identify the run, in addition to its tasks, agent and model.

        Two runs that differ here are different experiments and cannot share a folder; workers,
        budget, attempts and timeouts may change when a run is continued.
        """
        return {
            "limits": self.limits.model_dump(mode="json", exclude_none=True),
            "site_locks": self.site_locks,
            **self.config,
        }


class PlannedTrial(Record):
    """One trial a scheduler has to run; `earlier` are its attempts in former sessions."""

    key: TrialKey
    task: Task
    resources: tuple[Resource, ...] = ()
    limits: Limits = Limits()
    seed: int = 0
    earlier: tuple[Attempt, ...] = ()


class _Plan(Sequence[PlannedTrial]):
    """Makes each trial when it is asked for: two million of them are a few bytes each until they start."""

    def __init__(
        self,
        tasks: Iterable[Task],
        remaining: Iterable[TrialKey],
        spec: RunSpec,
        earlier: Mapping[TrialKey, tuple[Attempt, ...]],
    ) -> None:
        self._tasks = {task.task_id: task for task in tasks}
        self._spec = spec
        self._earlier = earlier
        self._ids = tuple(self._tasks)
        places = {task_id: place for place, task_id in enumerate(self._ids)}
        self._places, self._trials = array("L"), array("L")
        for key in remaining:
            self._places.append(places[key.task_id])
            self._trials.append(key.trial)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> PlannedTrial: ...

    @overload
    def __getitem__(self, index: slice) -> list[PlannedTrial]: ...

    def __getitem__(self, index: int | slice) -> PlannedTrial | list[PlannedTrial]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        task = self._tasks[self._ids[self._places[index]]]
        key = TrialKey(task_id=task.task_id, trial=self._trials[index])
        return PlannedTrial(
            key=key,
            task=task,
            resources=effective_resources(task, self._spec.site_locks),
            limits=effective_limits(task.limits, self._spec.limits),
            seed=trial_seed(self._spec.seed, key),
            earlier=self._earlier.get(key, ()),
        )


def select_tasks(tasks: Sequence[Task], wanted: TaskFilter, seed: int = 0) -> list[Task]:
    """Return the tasks the filter takes, in their order.

    Raises:
        UnknownTaskError: An id is none of the tasks'.
        InputError: Nothing is left, or a group or tag is none of the tasks'.
    """
    known = {task.task_id: task.benchmark for task in tasks}
    benchmark = tasks[0].benchmark if tasks else "the benchmark"
    for task_id in (*wanted.ids, *wanted.skip_ids):
        if task_id not in known:
            near = difflib.get_close_matches(task_id, known, n=_NEAR_IDS)
            raise UnknownTaskError(benchmark, task_id, near)
    names = sorted({name for task in tasks for name in task.groups})
    for name, values in wanted.groups.items():
        if name not in names:
            have = ", ".join(map(repr, names)) or "none"
            raise InputError(f"no task has a group {name!r}: there are {have}")
        members = {value for task in tasks for value in task.groups.get(name, ())}
        _refuse_unknown_members(f"group {name!r}", values, members)
    _refuse_unknown_members("tags", wanted.tags, {tag for task in tasks for tag in task.tags})
    if wanted.checker_audit is not None:
        tasks = read_findings(wanted.checker_audit).applied(tasks)
    if wanted.checker is not None and all(task.accepts is None for task in tasks):
        raise InputError(
            "--checker strict: no one has looked at what these tasks' checkers accept; name what "
            "`tasks --checkers --json` wrote with --checker-audit FILE"
        )
    taken = [task for task in tasks if _takes(wanted, task)]
    if wanted.sample is not None and wanted.sample < len(taken):
        # Drawn by index and sorted again, so that the plan keeps the benchmark's order.
        drawn = seeded(seed).sample(range(len(taken)), wanted.sample)
        taken = [taken[i] for i in sorted(drawn)]
    taken = taken[: wanted.limit]
    if not taken:
        raise InputError(f"none of the {len(tasks)} tasks fits the filter")
    return taken


def plan_trials(
    tasks: Iterable[Task],
    remaining: Iterable[TrialKey],
    spec: RunSpec,
    earlier: Mapping[TrialKey, tuple[Attempt, ...]] | None = None,
) -> Sequence[PlannedTrial]:
    """Return the remaining trials of `tasks`, in the order of `remaining`; each is made on demand.

    Args:
        tasks: The run's tasks.
        remaining: The trials that are not done.
        spec: The run asked for.
        earlier: The attempts of former sessions.
    """
    return _Plan(tasks, remaining, spec, earlier or {})


def trial_seed(seed: int, key: TrialKey) -> int:
    """Return a trial's own seed, from 0 to 2**31 - 1: SHA-256 of run seed, task and trial.

    Example:
        >>> trial_seed(0, TrialKey(task_id="7", trial=1))
        619495266
    """
    text = f"{seed}\x00{key.task_id}\x00{key.trial}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:_SEED_BYTES], "big") & _SEED_MASK


_NO_LIMITS = Limits()


def effective_limits(task: Limits, run: Limits) -> Limits:
    """Return the run's limits if they are set, else the task's."""
    if run == _NO_LIMITS:  # most runs have none, and plan thousands of trials
        return task
    return task.model_copy(update=run.model_dump(exclude_none=True))


def effective_resources(task: Task, site_locks: Literal["rw", "exclusive"]) -> tuple[Resource, ...]:
    """Return the resources that trials of `task` hold, sorted by name; one name once, the stronger mode."""
    modes: dict[str, Literal["shared", "exclusive"]] = {}
    for resource in task.resources:
        alone = site_locks == "exclusive" or "exclusive" in (
            resource.mode,
            modes.get(resource.name),
        )
        modes[resource.name] = "exclusive" if alone else "shared"
    return tuple(Resource(name=name, mode=modes[name]) for name in sorted(modes))


def _refuse_unknown_members(what: str, asked: Iterable[str], members: set[str]) -> None:
    unknown = sorted(set(asked) - members)
    if unknown:
        have = f"there are {', '.join(sorted(members))}" if members else "tasks have none here"
        raise InputError(f"no task has {', '.join(map(repr, unknown))} among its {what}; {have}")


def _takes(wanted: TaskFilter, task: Task) -> bool:
    return (
        (not wanted.ids or task.task_id in wanted.ids)
        and task.task_id not in wanted.skip_ids
        and all(set(task.groups.get(n, ())) & set(values) for n, values in wanted.groups.items())
        and set(wanted.tags) <= set(task.tags)
        and (wanted.checker is None or task.accepts == ())
    )
