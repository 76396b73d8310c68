"""The questions `waa-client doctor` asks, each with the way to fix what it finds."""

from __future__ import annotations

import shutil
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.discovery import find_plugins
from bench_core.errors import InputError
from waa_client.probing import vm_checks
from waa_client.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["checks"]

_PACKAGES = ("waa-client", "bench-core", "httpx", "pillow")
_GIB = 1024**3
# Measured on the simulated desktop: 15 steps leave 1 to 4 MB, a real screen up to 15.
_MB_PER_TRIAL = 15


def checks(options: Mapping[str, Any]) -> list[Check]:
    """Return what to check for runs with these options."""
    found = [
        Check("packages", _packages),
        Check("tasks", partial(_tasks, options)),
        Check("simulated desktop", _world),
        Check("disk", _disk),
    ]
    if options["model"]:
        found.append(Check(f"model {options['model']}", partial(_model, options["model"])))
    if options["vms"] or options["evaluators"]:
        return [*found, *vm_checks(options["vms"], options["evaluators"])]
    return [*found, Check("VM", _no_vm)]


def _packages() -> CheckResult:
    try:
        return ok(", ".join(f"{name} {version(name)}" for name in _PACKAGES))
    except PackageNotFoundError as error:
        return failed(f"not installed: {error.name}", f"pip install {error.name}")


def _tasks(options: Mapping[str, Any]) -> CheckResult:
    try:
        known = load_tasks(
            options["tasks_folder"], index=options["index"], variant=options["variant"]
        )
    except InputError as error:
        return failed(str(error), "git clone https://github.com/microsoft/WindowsAgentArena")
    infeasible = sum("infeasible" in task.tags for task in known)
    network = sum("network" in task.tags for task in known)
    return ok(f"{len(known)}, {infeasible} of them infeasible, {network} need the Internet")


def _world() -> CheckResult:
    if any(plugin.name == "waa" for plugin in find_plugins("world")):
        return ok("`waa-client demo` can start one")
    return warned("not installed, so there is no demo", "pip install waa-server-ext")


def _disk() -> CheckResult:
    free = shutil.disk_usage(Path.cwd()).free
    trials = free // (_MB_PER_TRIAL * 1024 * 1024)
    found = f"{free / _GIB:.1f} GiB free here, enough for about {trials:,} trials"
    return ok(found) if trials > 154 else warned(found, "pass --out on another disk")  # noqa: PLR2004  # all tasks


def _model(model: str) -> CheckResult:
    from bench_core.models.opening import open_model  # noqa: PLC0415  # imports an SDK

    try:
        open_model(model)
    except InputError as error:
        return failed(
            str(error), "set the key's variable and install the extra, e.g. waa-client[openai]"
        )
    return ok("its SDK is installed and its key is set")


def _no_vm() -> CheckResult:
    return warned("none given", "pass --vm HOST and --evaluate URL to check them too")
