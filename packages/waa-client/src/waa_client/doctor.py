"""The checks of `waa-client doctor`, each with a way to fix a failure."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from bench_core.cli.doctor import (
    Check,
    CheckResult,
    agent_checks,
    failed,
    installed,
    ok,
    sealing_checks,
    warned,
)
from bench_core.discovery import find_plugins
from bench_core.errors import InputError, pip_install
from bench_core.models import paid_checks, price_checks
from bench_core.play import play_checks
from waa_client.options import WaaTaskOptions
from waa_client.probe import vm_checks
from waa_client.provenance import PACKAGES

_GIB = 1024**3
# Measured on the simulated desktop: 15 steps write 1 to 4 MB, on a real screen up to 15.
_MB_PER_TRIAL = 15


def checks(
    options: WaaTaskOptions | None = None,
    *,
    vms: str | None = None,
    evaluators: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    paid: bool = False,
    play: bool = False,
) -> list[Check]:
    """Return the checks for runs of these tasks, on these VMs, of this agent with this model."""
    chosen = options or WaaTaskOptions()
    found = [
        Check("packages", partial(installed, PACKAGES)),
        Check("tasks", partial(_tasks, chosen)),
        Check("simulated desktop", partial(_world, needed=chosen.world == "built-in" and not vms)),
        Check("disk", _disk),
        *sealing_checks(),
        *agent_checks(agent, model),
        *price_checks(model),
    ]
    if model:
        found.append(Check(f"model {model}", partial(_model, model)))
    found += paid_checks(model, paid=paid)
    found += play_checks(model, agent, wanted=play)
    if vms or evaluators:
        return [*found, *vm_checks(vms, evaluators)]
    return found if chosen.world == "built-in" else [*found, Check("VM", _no_vm)]


def _tasks(options: WaaTaskOptions) -> CheckResult:
    try:
        known = options.known()
    except InputError as error:
        return failed(str(error), "git clone https://github.com/microsoft/WindowsAgentArena")
    infeasible = sum("infeasible" in task.tags for task in known)
    network = sum("network" in task.tags for task in known)
    return ok(f"{len(known)}, {infeasible} of them infeasible, {network} need the Internet")


def _world(*, needed: bool) -> CheckResult:
    if any(plugin.name == "waa" for plugin in find_plugins("world")):
        return ok("`waa-client demo` can start one")
    install = pip_install("waa-server-ext[simulate]")
    if needed:
        return failed("not installed, and --world built-in runs on it", install)
    return warned("not installed, so there is no demo", install)


def _disk() -> CheckResult:
    free = shutil.disk_usage(Path.cwd()).free
    trials = free // (_MB_PER_TRIAL * 1024 * 1024)
    found = f"{free / _GIB:.1f} GiB free here, enough for about {trials:,} trials"
    return ok(found) if trials > 154 else warned(found, "pass --out on another disk")  # all tasks


def _model(model: str) -> CheckResult:
    from bench_core.models import open_model  # imports an SDK

    try:
        open_model(model)
    except InputError as error:
        return failed(
            str(error), "set the key's variable, and install the SDK if that is what is missing"
        )
    return ok("its SDK is installed and its key is set")


def _no_vm() -> CheckResult:
    return failed(
        "none given, and a run needs one",
        "pass --vm HOST and --evaluate URL to check them too, or --world built-in",
    )
