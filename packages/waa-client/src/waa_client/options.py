"""The typed options of the commands: tasks, and settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.machines import INITIAL
from bench_core.records import Task
from bench_core.runs import RunOptions, TaskOptions
from waa_client.browser_profile import BrowserProfile
from waa_client.demonstrations import Demonstrations
from waa_client.environment import EnvironmentSettings
from waa_client.evaluation import evaluator_url
from waa_client.pool import vm_urls
from waa_client.provided import provided_vms
from waa_client.tasks import TaskQuery, load_tasks, resolve_task_id, select_tasks
from waa_client.world.launch import built_in_world

_SNAPSHOT = "snapshot"


class WaaTaskOptions(TaskOptions):
    """The options that choose tasks: ids in several spellings, and the fields of `TaskQuery`.

    Attributes:
        world: With `built-in`, the tasks of the simulated desktop if no folder is given.
        tasks_dir: A checkout of WindowsAgentArena, or a folder with `examples/`.
        index: Only the tasks of this index.
    """

    world: Literal["real", "built-in"] = "real"
    tasks_dir: Path | None = None
    index: str | None = None
    variant: Literal["normal", "hard"] = "normal"
    domains: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    infeasible: bool | None = None
    network: bool | None = None

    def known(self) -> tuple[Task, ...]:
        """Return all tasks of the folder.

        Raises:
            UnknownPluginError: No simulated desktop is installed.
            InputError: No task files were found.
        """
        folder = self.tasks_dir
        if folder is None and self.world == "built-in":
            folder = built_in_world().tasks_folder()
        return load_tasks(folder, index=self.index, variant=self.variant)

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return the options with the full ids of the tasks that ids and filters select.

        Raises:
            UnknownTaskError: An id does not belong to a task.
            InputError: No task matches.
        """
        query = TaskQuery(**{name: getattr(self, name) for name in TaskQuery.model_fields})
        update: dict[str, tuple[str, ...]] = {
            "skip_ids": tuple(resolve_task_id(each, known) for each in self.skip_ids)
        }
        if query != TaskQuery():
            update["ids"] = tuple(task.task_id for task in select_tasks(known, query))
            if not update["ids"]:
                raise InputError("no task fits all of these filters")
        return self.model_copy(update=update)


class WaaRunOptions(WaaTaskOptions, RunOptions):
    """The options of `waa-client run`; see its `--help`.

    Attributes:
        vms: Addresses, or `PROVIDER:N` for VMs that a provider starts; in the built-in world without
            them, each trial gets a simulated desktop.
        vm_spec: A JSON file describing a provider's VMs; without one, `process` starts simulated desktops.
        evaluators: One for each VM, in the same order; without them nothing is scored.
        timing: The sleeps of trials; see `waa_client.timing`.
        setup: The place where the tasks' setup steps run: the evaluator's server or this client.
        reset_command: Command that restores a VM before each trial; `{url}` and `{host}` are filled in.
        check_before: Ask the evaluator also before the agent's part.
        check_each_step: Ask it after each of the agent's actions as well.
        browser_profile: `own` gives browsers that setup steps drive a separate profile, as Chrome 136 and later demand.
        reset: `snapshot` or `snapshot:TAG`: the state to which a provider resets its VMs.
        asset_cache: Folder that caches downloads of the client's own setup.
        observe: Parts of observations; None for those the agent asks for.
        few_shot: Demonstrations: one for all tasks, or a folder of them.
    """

    agent: str | None = "vision"
    vms: tuple[str, ...] = ()
    vm_spec: Path | None = None
    evaluators: tuple[str, ...] = ()
    timing: Literal["fast", "vanilla"] = "fast"
    setup: Literal["server", "client"] = "server"
    reset_command: str | None = None
    check_before: bool = False
    check_each_step: bool = False
    browser_profile: BrowserProfile = "default"
    reset: str | None = None
    asset_cache: Path | None = None
    observe: tuple[str, ...] | None = None
    few_shot: Path | None = None

    def urls(self) -> tuple[str, ...]:
        """Return the VMs' base URLs; none if a provider starts them.

        Raises:
            InputError: An address is invalid, or given twice.
        """
        return vm_urls(",".join(self.vms)) if self.vms and not self.provided() else ()

    def provided(self) -> tuple[str, int] | None:
        """Return the provider of the VMs and their number; None if the VMs are given by address."""
        return provided_vms(self.vms)

    def reset_tag(self) -> str:
        """Return the state to which a provider's VMs are reset before each trial.

        Raises:
            InputError: `reset` is neither `snapshot` nor `snapshot:TAG`.
        """
        kind, colon, tag = (self.reset or _SNAPSHOT).partition(":")
        if kind != _SNAPSHOT or (colon and not tag):
            raise InputError(f"--reset takes snapshot or snapshot:TAG, not {self.reset!r}")
        return tag or INITIAL

    def evaluator_urls(self) -> tuple[str, ...]:
        """Return the evaluators' base URLs.

        Raises:
            InputError: An address is invalid.
        """
        return tuple(map(evaluator_url, self.evaluators))

    def settings(self) -> EnvironmentSettings:
        """Return the settings of reset and setup.

        Raises:
            InputError: Evaluation between actions was requested for VMs that cannot be put back.
        """
        if self.check_each_step and self.world != "built-in":
            raise InputError(
                "--check-each-step needs --world built-in: an evaluator acts on the VM that it looks at, and only a "
                "simulated desktop can be put back to where it was"
            )
        return EnvironmentSettings(
            reset_command=self.reset_command,
            check_before=self.check_before,
            check_each_step=self.check_each_step,
            browser_profile=self.browser_profile,
            setup=self.setup,
            asset_cache=str(self.asset_cache) if self.asset_cache else None,
        )

    def demonstrations(self) -> Demonstrations | None:
        """Return the demonstrations for agents, None without any.

        Raises:
            InputError: The file or folder has none, or one is not text.
        """
        return Demonstrations(self.few_shot) if self.few_shot else None
