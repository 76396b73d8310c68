"""Tasks as benchmarks give them, and the limits and resources of one trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    Field,
    JsonValue,
    PositiveInt,
)

from bench_core.records.base import Record


class Resource(Record):
    """Something trials cannot all use at once: a VM, a site.

    A reading trial shares it, a mutating one holds it alone.
    """

    name: str = Field(min_length=1)
    mode: Literal["shared", "exclusive"] = "exclusive"


class Limits(Record):
    """Limits of one trial; `None` means no limit."""

    max_steps: PositiveInt | None = None
    time_limit_s: Annotated[float, Field(gt=0)] | None = None


class AgentTask(Record):
    """The part of a task that an agent may know: everything but the benchmark's own config.

    Attributes:
        instructions: The benchmark's statement to every agent in addition to the goal, for a model to read.
        answer_schema: JSON Schema of the answer that ends the task. One of type `object` names the fields of
            the answer; one without properties asks for none. If the benchmark does not say, any answer will do.
        can_fail: Whether the benchmark knows "this cannot be done" as an ending besides the answer.
    """

    benchmark: str
    task_id: str
    goal: str
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    limits: Limits = Limits()
    instructions: str = ""
    answer_schema: dict[str, JsonValue] | None = None
    can_fail: bool = True


class Task(Record):
    """One task of a benchmark.

    Attributes:
        groups: Reporting slices, name to values, e.g. `{"site": ["gitlab", "reddit"]}`.
        template: Tasks made from one template are one cluster in every interval.
        resources: The resources that trials of this task hold while they run.
        inputs: The agent's inputs in addition to the goal (start URLs, say).
        config: The benchmark's own definition as it came, expected answers included; agents never
            see it.
        accepts: Ways to leave it undone or overdone that an audit has seen its checker accept; None if it has not
            been audited. It defines nothing and is in no digest of tasks.
    """

    schema_version: Literal[1] = 1
    benchmark: str = Field(min_length=1)
    task_id: str = Field(min_length=1)
    goal: str
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    template: str | None = None
    resources: tuple[Resource, ...] = ()
    limits: Limits = Limits()
    tags: tuple[str, ...] = ()
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    config: dict[str, JsonValue] = Field(default_factory=dict)
    accepts: tuple[str, ...] | None = None

    def for_agent(
        self,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        limits: Limits | None = None,
        instructions: str = "",
        answer_schema: dict[str, JsonValue] | None = None,
        can_fail: bool = True,
    ) -> AgentTask:
        """Return the part of the task an agent may see, with the benchmark's statement; see `AgentTask`.

        `inputs` are added to the task's own, and replace those of the same name; `limits` are
        those of the trial, if they are not the task's.
        """
        return AgentTask(
            benchmark=self.benchmark,
            task_id=self.task_id,
            goal=self.goal,
            inputs={**self.inputs, **(inputs or {})},
            limits=limits or self.limits,
            instructions=instructions,
            answer_schema=answer_schema,
            can_fail=can_fail,
        )


class TrialKey(Record):
    """Names one trial of a run: a task and which repetition of it, from 1."""

    task_id: str = Field(min_length=1)
    trial: PositiveInt = 1
