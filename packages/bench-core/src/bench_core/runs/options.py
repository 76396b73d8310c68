"""The options of a `run` command as one typed record: the command fills it, and so may a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    JsonValue,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)
from typing_extensions import Self

from bench_core.agent_process.foreign import name_of_command
from bench_core.budgets import Budget
from bench_core.errors import InputError
from bench_core.files.atomic import folder_name
from bench_core.records import Limits, Record, World
from bench_core.records.problems import problems_of
from bench_core.run_folder.baselines import stored_baseline
from bench_core.run_folder.provenance import canonical_hash
from bench_core.run_folder.stored import checked_url
from bench_core.run_spec import AgentProcessSpec, ExecutorSpec, LookSpec, RunSpec, TaskFilter

_HASH_DIGITS = 8


class TaskOptions(Record):
    """Which tasks; the fields are those of `TaskFilter`."""

    ids: tuple[str, ...] = ()
    skip_ids: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    checker: Literal["strict"] | None = None
    checker_audit: Path | None = None
    limit: PositiveInt | None = None
    sample: PositiveInt | None = None

    def task_filter(self) -> TaskFilter:
        """Return the filter of a run."""
        return TaskFilter(**{name: getattr(self, name) for name in TaskFilter.model_fields})


class RunOptions(TaskOptions):
    """The options of every runner's `run`; a runner adds fields of its own.

    Attributes:
        agent: The agent that works on the tasks.
        model: The agent's model, `provider:model`.
        dialect: The computer-use tool, instead of the one documented for the model.
        agent_options: Settings of the agent, which it documents.
        record_calls: Whether each trial keeps its model's calls in a form that can be replayed.
        replay_calls: A run folder whose recorded calls answer instead of the model.
        workers: Trials at once; None leaves it to the runner.
        out: The run folder; by default one named by everything else.
        time_limit: Seconds a trial may take.
        max_cost: US dollars the run may cost.
        looks: How often to see whether the run may stop early; the rest is in `LookSpec`.
        against: The run folder or baseline file that looks compare with; by default the `baseline.json` next to
            `out` or in the working directory.
        looks_for: The hypothesis that looks test.
        planned_drop: In points: stop when such a drop is unlikely to be found any more.
        unscored: Whether looks wait for trials without a score that may run again.
        agent_process: Whether the agent works in a process of its own or in that of the run.
        agent_memory: Gigabytes that a process of its own may write to.
        model_proxy: Whether its model calls go by a proxy of the run's; see `AgentProcessSpec`.
        agent_variables: Environment variables it gets in addition to the system's and its model provider's.
        agent_env: The requirement of which uv makes its environment, `uv:REQUIREMENT`.
        agent_python: The interpreter it runs in, or that its environment is made on.
        agent_command: A program in any language that is the agent; its script's name is the agent's by default.
        executor: Where trials run; see `ExecutorSpec`.
        address: The Ray cluster's address.
        artifacts: Where workers put the files of trials; see `ExecutorSpec`.
        bind: Which sites and VMs need nodes with which label, `NAME=LABEL` each; see `ExecutorSpec`.
        sealing: Whether answers are hidden from agents and their browsers; see `RunSpec`.
        without_scores: Whether trials may run that nothing could score.
        rerun: Which trials with a result run again: `failed`, `unscored`, `suspect`, `all`, or ids of
            tasks.
        accept_changes: Continue a run although its agent's program has changed.
        machine_price: Dollars per hour of each worker's machine, for the plan.
        machine_start_minutes: Minutes that each machine needs before its first trial, for the plan.
        trial_minutes: Expected minutes of a trial, for the plan; by default those of the trials done so far.
    """

    agent: str | None = None
    model: str | None = None
    dialect: str | None = None
    agent_options: dict[str, JsonValue] = Field(default_factory=dict)
    record_calls: bool = False
    replay_calls: str | None = None
    trials: PositiveInt = 1
    workers: PositiveInt | None = None
    out: Path | None = None
    seed: int = 0
    max_steps: PositiveInt | None = None
    time_limit: PositiveFloat | None = None
    attempts: PositiveInt = 2
    max_consecutive_faults: NonNegativeInt = 5
    site_locks: Literal["rw", "exclusive"] = "rw"
    max_cost: NonNegativeFloat | None = None
    max_tokens: PositiveInt | None = None
    max_minutes: PositiveFloat | None = None
    looks: PositiveInt | None = None
    against: Path | None = None
    looks_for: Literal["drop", "difference"] = "drop"
    planned_drop: PositiveFloat | None = None
    unscored: Literal["wait", "leave-out"] = "wait"
    agent_process: Literal["own", "shared"] | None = None
    agent_memory: PositiveFloat | None = None
    model_proxy: bool = False
    agent_variables: tuple[str, ...] = ()
    agent_env: str | None = None
    agent_python: str | None = None
    agent_command: str | None = None
    executor: Literal["inline", "ray"] = "inline"
    address: str | None = None
    artifacts: str | None = None
    bind: tuple[str, ...] = ()
    sealing: Literal["auto", "require", "off"] = "auto"
    without_scores: bool = False
    rerun: tuple[str, ...] = ()
    accept_changes: bool = False
    machine_price: PositiveFloat | None = None
    machine_start_minutes: NonNegativeFloat | None = None
    trial_minutes: PositiveFloat | None = None

    @classmethod
    def from_mapping(cls, given: RunOptions | Mapping[str, object]) -> Self:
        """Return options from a mapping or from other options, for programs and files.

        Raises:
            InputError: One does not exist, or has a value that it cannot have.
        """
        try:
            return given if isinstance(given, cls) else cls.model_validate(dict(given))
        except ValidationError as error:
            raise InputError(problems_of(error, cls, kind="option")) from error

    def spec(
        self,
        *,
        world: World = "real",
        profile: str = "official",
        timing: str | None = None,
        config: Mapping[str, JsonValue] | None = None,
    ) -> RunSpec:
        """Return the spec of the run.

        Args:
            world: Whether the systems are the benchmark's real ones.
            profile: Which rules score the run.
            timing: How fast the harness acts, if the benchmark has a choice.
            config: The runner's own settings that define the run.

        Raises:
            InputError: No agent is named, or looks have nothing to compare with.
        """
        agent = self.agent
        if agent is None and self.agent_command is not None:
            agent = name_of_command(self.agent_command)
        if agent is None:
            raise InputError("who works on the tasks? Name an agent: `--agent NAME`")
        return RunSpec(
            tasks=self.task_filter(),
            trials=self.trials,
            workers=self.workers or 1,
            seed=self.seed,
            agent=agent,
            model=self.model,
            world=world,
            profile=profile,
            timing=timing,
            limits=Limits(max_steps=self.max_steps, time_limit_s=self.time_limit),
            budget=Budget(
                max_cost_usd=self.max_cost,
                max_tokens=self.max_tokens,
                max_minutes=self.max_minutes,
            ),
            attempts=self.attempts,
            max_consecutive_faults=self.max_consecutive_faults or None,
            site_locks=self.site_locks,
            stopping=self._stopping(),
            agent_process=AgentProcessSpec(
                process=self.agent_process,
                memory_gb=self.agent_memory,
                model_proxy=self.model_proxy,
                variables=self.agent_variables,
                python=self.agent_python,
                environment=self.agent_env,
                command=self.agent_command,
            ),
            executor=self._executor(),
            sealing=self.sealing,
            rerun=self.rerun,
            accept_changes=self.accept_changes,
            config={
                **(config or {}),
                **({"dialect": self.dialect} if self.dialect else {}),
                **{
                    name: value
                    for name in ("agent_options", "record_calls", "replay_calls")
                    if (value := getattr(self, name))
                },
            },
        )

    def folder(self, benchmark: str, spec: RunSpec) -> Path:
        """Return the run folder: `out`, or one named by all settings that define the run.

        So the same command continues its run.
        """
        if self.out is not None:
            return self.out
        identity = {
            "tasks": spec.tasks.model_dump(mode="json"),
            "seed": spec.seed,
            "model": spec.model,
            "world": spec.world,
            "profile": spec.profile,
            "timing": spec.timing,
            "settings": spec.settings(),
        }
        digits = canonical_hash(identity)[:_HASH_DIGITS]
        return Path("runs") / folder_name(f"{benchmark}-{spec.agent}-{digits}")

    def baseline(self) -> Path:
        """Return the run folder or file that looks compare with.

        Raises:
            InputError: None is named, and none is stored.
        """
        return self.against or stored_baseline(self.out or Path("runs", "new"))

    def _executor(self) -> ExecutorSpec:
        if self.address is not None and self.executor == "inline":
            raise InputError("--address is that of a Ray cluster: add --executor ray")
        if self.bind and self.address is None:
            raise InputError(
                "--bind chooses among the nodes of a Ray cluster: add --executor ray and its --address"
            )
        if self.artifacts is not None and self.executor == "inline":
            raise InputError(
                "--artifacts is where workers put the files of trials: add --executor ray"
            )
        artifacts = None if self.artifacts is None else checked_url(self.artifacts)
        if self.bind:
            from bench_core.workers.placement import Bindings

            Bindings(self.bind)  # refused here, before workers start
        return ExecutorSpec(
            kind=self.executor, address=self.address, bind=self.bind, artifacts=artifacts
        )

    def _stopping(self) -> LookSpec | None:
        if self.looks is None:
            return None
        settings: dict[str, JsonValue] = {
            "sides": self.looks_for, "unscored": self.unscored.replace("-", "_")
        }  # fmt: skip
        if self.planned_drop is not None:
            settings["drop"] = self.planned_drop / 100.0
        return LookSpec(looks=self.looks, against=self.baseline(), settings=settings)
