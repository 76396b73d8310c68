"""The typed options of the commands: tasks, and settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt
from typing_extensions import Self

from bench_core.records import Task
from bench_core.runs import RunOptions, TaskOptions
from webarena_runner.environment import CONTACT_PROBE
from webarena_runner.tasks import BENCHMARK, TaskQuery, select_tasks

_BUILT_IN = "the built-in world"


class WebArenaTaskOptions(TaskQuery, TaskOptions):
    """The options that choose tasks: ids and ranges like `0-50`, and the fields of `TaskQuery`.

    Attributes:
        world: With `built-in`, only the tasks of its stand-in sites.
    """

    world: Literal["real", "built-in"] = "real"

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return the options with the ids of the tasks that ranges, filters and the world select.

        Raises:
            UnknownTaskError: An id belongs to no task, or is not in the world.
            InputError: No task matches.
        """
        owner = BENCHMARK
        if self.world == "built-in":
            from webarena_runner.world import scripted_task_ids

            scripted = set(map(str, scripted_task_ids()))
            known, owner = [task for task in known if task.task_id in scripted], _BUILT_IN
        if owner == BENCHMARK and not (self.ids or self.narrows):
            return self
        chosen = select_tasks(known, self, ",".join(self.ids) or None, owner)
        return self.model_copy(update={"ids": tuple(task.task_id for task in chosen)})


class WebArenaRunOptions(WebArenaTaskOptions, RunOptions):
    """The options of `webarena-runner run`; see its `--help`.

    Attributes:
        workers: By default as many as memory and processors allow.
        resets: Reset policies, each `[SITE=]POLICY`.
        auth_folder: Folder of stored logins.
    """

    agent: str | None = "browser-use"
    config_file: Path | None = None
    host: str | None = None
    resets: tuple[str, ...] = ()
    reset_batch: PositiveInt = 20
    auth_folder: Path | None = None
    restore_contact_probe: bool = False
    chat: Literal["proctor", "browser-use"] = "proctor"
    extract: Literal["rules", "model"] | None = None
    extract_model: str | None = None

    def agent_config(self) -> dict[str, Any]:
        """Return the run's configuration of the agent, without defaults."""
        config: dict[str, Any] = {CONTACT_PROBE: True} if self.restore_contact_probe else {}
        if self.chat != "proctor":
            config["chat"] = self.chat
        for name in ("extract", "extract_model"):
            if value := getattr(self, name):
                config[name] = value
        return config
