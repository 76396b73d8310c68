"""The built-in world `waa`: a simulated VM and the server that scores on it, started together."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from bench_core.checkers import Mutant
from bench_core.errors import InputError
from bench_core.protocols import WorldInfo
from bench_core.records import Task
from waa_server_ext.built_in.reference_files import write_assets
from waa_server_ext.built_in.solutions import Solution, demo_tasks, solutions
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.native.registry import missing_parts
from waa_server_ext.server.service import Service, ServiceSettings
from waa_server_ext.server.startup import running_server
from waa_server_ext.simulate.api.simulated_vm import SimulatedVm
from waa_server_ext.simulate.scene import Scene

_starts = itertools.count()
_TRIES = 200  # other worlds may hold many of the addresses


def built_in_tasks() -> TaskFolder:
    """Return the tasks in this package: WAA's checks with instructions and reference files made for it."""
    return TaskFolder(Path(str(resources.files("waa_server_ext.built_in").joinpath("tasks"))))


class SimulatedDesktopWorld:
    """A simulated Windows desktop and a server with native evaluators for it, both on loopback.

    The VM listens on port 5000 of its own address (127.x.y.z), because vanilla can use no other
    port, so many can run at once. A score from here is never a WAA score: results carry the world
    `built-in`.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     world = SimulatedDesktopWorld()
        ...     info = await world.start()
        ...     try:
        ...         return sorted(info.urls)
        ...     finally:
        ...         await world.stop()
        >>> asyncio.run(main())
        ['evaluate', 'vm']

    Args:
        scene: The desktop's initial state.
        guarded: Answer only clients that send `token` as bearer token, so that other programs which
            find the ports cannot use the VM or the server.
    """

    name = "waa"

    def __init__(self, scene: Scene | None = None, *, guarded: bool = False) -> None:
        self._scene = scene
        self.token = secrets.token_urlsafe(32) if guarded else None
        self.vm: SimulatedVm | None = None
        self._evaluate_url: str | None = None
        self._open = contextlib.ExitStack()

    async def start(self, seed: int = 0, task: str | Mapping[str, Any] | None = None) -> WorldInfo:
        """Start the VM and the server; return their URLs.

        Args:
            seed: Seeds the random numbers of interpreted programs.
            task: A task (or its `domain/stem`) whose reference files the server gets in addition to
                those of the built-in tasks; set it up with `POST /setup`.

        Raises:
            InputError: The task is invalid, or no address is free.
        """
        began = time.perf_counter()
        if self.vm is None:
            await asyncio.to_thread(self._start, seed, task)
        urls = {"vm": self.vm_url, "evaluate": self.evaluate_url}
        return WorldInfo(name=self.name, urls=urls, startup_s=time.perf_counter() - began)

    async def stop(self) -> None:
        """Stop both; safe to call twice."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Stop both at once; safe to call twice."""
        self.vm, self._evaluate_url = None, None
        self._open.close()

    @property
    def vm_url(self) -> str:
        """The URL of the VM's API."""
        if self.vm is None:
            raise InputError("the world is not started")
        return self.vm.url

    @property
    def evaluate_url(self) -> str:
        """The URL below which `/evaluate` and `/setup` answer."""
        if self._evaluate_url is None:
            raise InputError("the world is not started")
        return self._evaluate_url

    def reset(self) -> None:
        """Put the desktop back to its start, which a real VM cannot do."""
        if self.vm is not None:
            self.vm.reset()

    @staticmethod
    def tasks_folder() -> Path:
        """Return the folder of the built-in tasks, `<domain>/<stem>.json`."""
        return built_in_tasks().folder

    @staticmethod
    def solutions() -> Mapping[str, Solution]:
        """Return the solutions of tasks, by `domain/stem`; see `Solution`."""
        return solutions()

    @staticmethod
    def end_states(task: Task, draw: random.Random) -> list[Mutant]:
        """Return a VM's states after right and wrong work on a task; see `built_in.end_states`."""
        from waa_server_ext.built_in.end_states import end_states

        return end_states(task, draw)

    @staticmethod
    def judge_end_state(task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Return whether the task's evaluator gives an end state the full score, and its reason."""
        from waa_server_ext.built_in.end_states import judge_end_state

        return judge_end_state(task, mutant)

    @staticmethod
    def missing_metrics() -> Mapping[str, str]:
        """Return the getters and metrics that lack an extra here, each with the command that adds it."""
        return missing_parts()

    @staticmethod
    def demo_tasks() -> tuple[str, ...]:
        """Return the tasks of a demo."""
        return demo_tasks()

    def _start(self, seed: int, task: str | Mapping[str, Any] | None) -> None:
        with contextlib.ExitStack() as stack:
            store = stack.enter_context(reference_files(task))
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="waa-evaluations-"))
            self.vm = self._listening(seed, store)
            stack.callback(self.vm.stop)
            settings = EvaluatorSettings(
                cache=Path(cache), assets=store.folder, offline=True, skip_sleeps=True,
                vm_token=self.token,
            )  # fmt: skip
            served = native_service(self.vm.address, settings, built_in_tasks(), token=self.token)
            self._evaluate_url = stack.enter_context(served)
            self._open = stack.pop_all()

    def _listening(self, seed: int, store: AssetStore) -> SimulatedVm:
        for _ in range(_TRIES):
            # worlds that start together in several processes begin their search at different addresses
            number = (os.getpid() * 7919 + next(_starts)) % (254 * 254)
            host = f"127.88.{number // 254 + 1}.{number % 254 + 1}"
            vm = SimulatedVm(
                self._scene, host=host, seed=seed, download=store.read, token=self.token
            )
            with contextlib.suppress(InputError):
                vm.start()
                return vm
        raise InputError(f"none of {_TRIES} loopback addresses has port 5000 free")


@contextlib.contextmanager
def native_service(
    vm: str, settings: EvaluatorSettings, tasks: TaskFolder, *, token: str | None = None
) -> Iterator[str]:
    """Serve native evaluators for a VM on a free port during the block; yield the URL.

    Args:
        vm: Its `host:port`.
        settings: Of the evaluators.
        tasks: The tasks that requests may name.
        token: Required of clients, and shown to the VM.
    """
    service_settings = ServiceSettings(
        vm=vm, cache=settings.cache, tasks=tasks.folder, vm_token=token
    )
    with (
        Service(make_evaluator(settings), service_settings) as service,
        running_server(service, token=token) as server,
    ):
        yield f"http://127.0.0.1:{server.port}"


@contextlib.contextmanager
def reference_files(task: str | Mapping[str, Any] | None) -> Iterator[AssetStore]:
    """Make the reference files of the built-in tasks and of `task` during the block."""
    folder = built_in_tasks()
    known = [folder.load(name) for name in folder.names()]
    if isinstance(task, str):
        folder.load(task)
    elif task is not None:
        known.append(dict(task))
    with tempfile.TemporaryDirectory(prefix="waa-world-") as made:
        yield write_assets(known, Path(made) / "assets")
