"""The nodes of a cluster on which a run's workers would run: for the run, and for its plan."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.errors import InputError, MissingExtraError
from bench_core.workers.placement import Bindings, Placement, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records import Task
    from bench_core.run_spec import PlannedTrial, RunSpec
    from bench_core.runs.environment import RunEnvironment
    from bench_core.workers.placement import NodeRoom
    from bench_core.workers.recipe import Recipe
    from bench_core.workers.transport import Transport

_TRANSPORTS = {"ray": "bench_core.ray"}


@dataclass(frozen=True)
class Placing:
    """Places the workers of a run.

    Attributes:
        bindings: The labels that each part needs.
        nodes: The cluster's, which are looked at if a part is bound.
        recipe: Lists the parts that each worker uses alone.
    """

    bindings: Bindings
    nodes: Sequence[NodeRoom] = ()
    recipe: Recipe | None = None

    def place(
        self, tasks: Sequence[Task], trials: Sequence[PlannedTrial], workers: int
    ) -> Placement:
        """Return the placement of a number of workers.

        Args:
            tasks: All of the run.
            trials: Those to run.
            workers: How many.

        Raises:
            InputError: A bound part is not used, or the cluster lacks the nodes for it.
        """
        own = [self._own(number) for number in range(min(workers, self._most or workers))]
        if not self.bindings:
            return Placement.anywhere(len(own))
        used = {each.name for task in tasks for each in task.resources}
        self.bindings.refuse_unused(used.union(*own))
        uses = [[each.name for each in trial.resources] for trial in trials]
        return placed(self.nodes, own, uses, self.bindings)

    def most(self, tasks: Sequence[Task], trials: Sequence[PlannedTrial], workers: int) -> int:
        """Return the number of workers there is room for.

        Args:
            tasks: All of the run.
            trials: Those to run.
            workers: As many as `place` takes.
        """
        if not self.bindings:
            return len(trials)
        least, most = workers, max(workers, sum(each.room for each in self.nodes))
        while least < most:
            middle = (least + most + 1) // 2
            if self.fits(tasks, trials, middle) is None:
                most = middle - 1
            else:
                least = middle
        return least

    def fits(
        self, tasks: Sequence[Task], trials: Sequence[PlannedTrial], workers: int
    ) -> Placement | None:
        """Return the result of `place`, None if it refuses."""
        try:
            return self.place(tasks, trials, workers)
        except InputError:
            return None

    @property
    def _most(self) -> int:
        """The parts each worker has alone, such as a VM, are not shared by two."""
        return len(self.recipe.slots) if self.recipe is not None else 0

    def _own(self, worker: int) -> list[str]:
        held = () if self.recipe is None else self.recipe.held_by(worker)
        return [each.name for each in held]


def opened_transport(spec: RunSpec, with_: RunEnvironment) -> tuple[Transport, Recipe]:
    """Return the transport that starts the workers, and the recipe from which they build the benchmark.

    Raises:
        InputError: Only this process can run the benchmark or the agent.
        MissingExtraError: The extra is not installed.
    """
    if with_.recipe is None:
        raise InputError(
            "this benchmark, with these options, runs in this process only: leave out --executor"
        )
    if with_.agent_for is not None:
        raise InputError("agents that are objects work in this process only: name an agent")
    if with_.transport is not None:
        return with_.transport, with_.recipe
    kind = spec.executor.kind
    try:
        made: Transport = importlib.import_module(_TRANSPORTS[kind]).cluster(spec.executor.address)
    except ImportError as error:
        raise MissingExtraError(
            f"--executor {kind}", str(error.name), "bench-core", kind
        ) from error
    return made, with_.recipe


async def placing_of(spec: RunSpec, with_: RunEnvironment, transport: Transport) -> Placing:
    """Return the placing of a run's workers; asks for the nodes only if a part is bound.

    Raises:
        InputError: The cluster is missing.
        EnvironmentFaultError: It does not answer.
    """
    bindings = Bindings(spec.executor.bind)
    if not bindings:
        return Placing(bindings, recipe=with_.recipe)
    nodes = await transport.nodes()
    if nodes is None:
        raise InputError("--bind chooses among the nodes of a cluster: give its --address")
    return Placing(bindings, nodes, with_.recipe)


def placing_for(spec: RunSpec, with_: RunEnvironment) -> Placing:
    """Return the result of `placing_of`, for a plan: it joins the cluster and leaves it.

    Raises:
        InputError: The cluster or the extra is missing.
        EnvironmentFaultError: It does not answer.
    """
    return asyncio.run(_placing_for(spec, with_))


async def _placing_for(spec: RunSpec, with_: RunEnvironment) -> Placing:
    if with_.transport is None and spec.executor.kind == "inline":
        return Placing(Bindings())
    transport, _ = opened_transport(spec, with_)  # refused as the run would refuse it
    try:
        return await placing_of(spec, with_, transport)
    finally:
        await transport.close()
