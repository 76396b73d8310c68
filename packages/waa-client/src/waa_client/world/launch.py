"""The worlds of runs: VMs of the user's, or a simulated desktop for each trial."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from bench_core.discovery import load_plugin
from bench_core.errors import BenchError, EnvironmentFaultError, InputError
from bench_core.records import Record, Task, World
from waa_client.capabilities import unscored_here
from waa_client.errors import VmError
from waa_client.evaluation import EvaluationClient, world_of_vm
from waa_client.pool import LeasedVm
from waa_client.vm import VmClient, VmOptions, calls

__all__ = ["BuiltInDesktops", "ServerAnswers", "built_in_world"]


class ServerAnswers(Record):
    """The answers of VMs and evaluators before a run.

    Attributes:
        worlds: The world of each server that answers, by its URL.
        faults: Why a VM does not answer, by its URL.
    """

    worlds: dict[str, World]
    faults: dict[str, str]


class BuiltInDesktops:
    """Simulated desktops with their evaluators, each started for one trial and stopped at its end.

    Args:
        make: Factory of worlds; by default the installed one.
        kept: Use a desktop for one trial after another, resetting it to its start each time; `close`
            stops it.

    Raises:
        UnknownPluginError: No simulated desktop is installed.
    """

    def __init__(self, make: Callable[[], Any] | None = None, *, kept: bool = False) -> None:
        self._make = make or partial(built_in_world(), guarded=True)
        self._kept = kept
        self._spare: _Desktop | None = None

    @asynccontextmanager
    async def lease(self, task: Task) -> AsyncIterator[LeasedVm]:
        """Run a desktop and an evaluator with the reference files of `task` during the block.

        Errors of the block pass through.

        Raises:
            EnvironmentFaultError: They do not start.
        """
        spare, self._spare = self._spare, None
        if spare is not None and not spare.serves(task):
            await spare.world.stop()
            spare = None
        desktop = spare or _Desktop(self._make(), task)
        usable = False
        try:
            machine = await desktop.machine()
            yield machine
            usable = machine.fault is None
        finally:
            await desktop.started()  # a trial may be cancelled while the desktop starts
            if self._kept and usable and self._spare is None:
                self._spare = desktop
            else:
                await desktop.world.stop()

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score: parts of the evaluator are not installed."""
        return unscored_here(tasks)

    async def close(self) -> None:
        """Stop the kept desktop, if there is one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            await spare.world.stop()


class _Desktop:
    """A simulated desktop that starts, or runs."""

    def __init__(self, world: Any, task: Task) -> None:
        self.world = world
        self._task = task
        self._starting = asyncio.ensure_future(world.start(task=task.config))

    def serves(self, task: Task) -> bool:
        """Whether its evaluator has the reference files of `task`; all have those of the built-in tasks."""
        if task.task_id == self._task.task_id:
            return bool(task.config == self._task.config)
        folder = getattr(self.world, "tasks_folder", None)
        return folder is not None and (folder() / f"{task.task_id}.json").is_file()

    async def started(self) -> None:
        await asyncio.wait({self._starting})

    async def machine(self) -> LeasedVm:
        try:
            # a start cancelled half-way would leave processes that are never stopped
            info = await asyncio.shield(self._starting)
        except (InputError, OSError) as error:
            raise EnvironmentFaultError(f"no simulated desktop starts: {error}") from error
        return LeasedVm(
            url=info.urls["vm"],
            evaluator=info.urls["evaluate"],
            token=getattr(self.world, "token", None),
        )


def built_in_world() -> Any:
    """Return the class of the installed simulated desktop, which has tasks and their solutions.

    Raises:
        UnknownPluginError: None is installed.
        InputError: It has no tasks.
    """
    world = load_plugin("world", "waa")
    if not hasattr(world, "tasks_folder"):
        raise InputError(f"the world {world.name!r} brings no tasks of its own")
    return world


def look_around(vms: Sequence[str], evaluators: Sequence[str]) -> ServerAnswers:
    """Ask all VMs and evaluators, at once, whether they answer and for their worlds."""
    return asyncio.run(_look_around(vms, evaluators))


async def _look_around(vms: Sequence[str], evaluators: Sequence[str]) -> ServerAnswers:
    answers = await asyncio.gather(*map(_vm, vms))
    seen = await asyncio.gather(*map(_evaluator, evaluators))
    worlds = {url: world for url, world in zip(evaluators, seen, strict=True) if world}
    faults = {}
    for url, answer in zip(vms, answers, strict=True):
        if isinstance(answer, VmError):
            faults[url] = str(answer)
        else:
            worlds[url] = answer
    return ServerAnswers(worlds=worlds, faults=faults)


async def _vm(url: str) -> World | VmError:
    try:
        async with VmClient(url, VmOptions(tries=1)) as vm:
            world = (await vm.send(calls.probe())).world
            # Wine brings its own settings program
            wine = calls.file_exists(r"C:\windows\system32", "winecfg.exe")
            return "wine" if world == "real" and await vm.send(wine) else world
    except VmError as error:
        return error


async def _evaluator(url: str) -> World | None:
    """Return the world of an evaluator's VM; None if the evaluator is down, which trials report."""
    try:
        async with EvaluationClient(url, tries=1) as evaluator:
            return world_of_vm(await evaluator.health())
    except BenchError:
        return None
