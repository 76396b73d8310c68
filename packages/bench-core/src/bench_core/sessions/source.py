"""Provide sessions with benchmark, tasks and world, from an installed benchmark's name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench_core.errors import UnknownTaskError
from bench_core.files.removal import remove_folder
from bench_core.records import Task
from bench_core.run_spec import RunSpec, select_tasks
from bench_core.runs.prepare import Purpose, prepare_installed, scoring_warnings
from bench_core.runs.sealing import SealedRun, sealed_run
from bench_core.seeded import seeded
from bench_core.sessions.records import SessionSettings, TaskNote
from bench_core.trial import Benchmark, close_benchmark

AGENT = "session"
"""The agent in the records of episodes: the session's caller."""

_PREPARED_FOR = "do-nothing"
"""The agent for which a run is prepared: one that needs no model and no key, as the session's caller acts instead."""


@dataclass(frozen=True)
class SessionWorld:
    """The world of one session.

    Attributes:
        benchmark: Opens and scores episodes.
        spec: The conditions of episodes.
        tasks: The tasks, in the benchmark's order.
        sealed: Files and folders hidden from browsers.
        folder: Folder for episodes' artifacts.
    """

    benchmark: Benchmark
    spec: RunSpec
    tasks: tuple[Task, ...]
    sealed: SealedRun
    folder: Path

    def task(self, task_id: str | None, seed: int) -> Task:
        """Return a task by its id, or one that `seed` draws.

        Raises:
            UnknownTaskError: No task has that id.
        """
        if task_id is None:
            return seeded(seed).choice(self.tasks)
        found = {each.task_id: each for each in self.tasks}.get(str(task_id))
        if found is None:
            known = [each.task_id for each in self.tasks]
            raise UnknownTaskError(self.benchmark.name, str(task_id), known[:3])
        return found

    def notes(self) -> tuple[TaskNote, ...]:
        """Return the tasks' public descriptions."""
        return tuple(
            TaskNote(task_id=each.task_id, goal=each.goal, groups=dict(each.groups))
            for each in self.tasks
        )

    async def close(self) -> None:
        """End the resources that the benchmark keeps between episodes."""
        await close_benchmark(self.benchmark)


@contextmanager
def open_world(
    name: str, settings: SessionSettings, purpose: Purpose = Purpose.SESSION
) -> Iterator[SessionWorld]:
    """Start the world of a session, and end it with the block.

    Args:
        name: The benchmark's, or `module:Class`.
        settings: The world, the limits of episodes and the benchmark's own options.
        purpose: Whether episodes will begin, or only the tasks are wanted.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        InputError: The options do not fit it, or nothing answers.
    """
    limits = {"max_steps": settings.max_steps, "time_limit": settings.time_limit_s}
    options = {
        "agent": _PREPARED_FOR,
        "world": settings.world,
        **{limit: value for limit, value in limits.items() if value is not None},
        **settings.options,
    }
    with ExitStack() as stack:
        ready = stack.enter_context(prepare_installed(name)(options, purpose))
        if purpose.begins:
            allowed = bool(options.get("without_scores"))
            scoring_warnings(ready, allowed=allowed, allow="the option without_scores=true")
        spec = ready.spec.model_copy(update={"agent": AGENT, "sealing": settings.sealing})
        folder = settings.keep
        if folder is None:
            made = Path(tempfile.mkdtemp(prefix="bench-session-"))
            stack.callback(remove_folder, made)
            folder = made / "episodes"
        folder.mkdir(parents=True, exist_ok=True)
        sealed = stack.enter_context(sealed_run(ready.benchmark, spec, folder))
        tasks = tuple(select_tasks(ready.benchmark.tasks(), spec.tasks, spec.seed))
        yield SessionWorld(ready.benchmark, spec, tasks, sealed, folder)
