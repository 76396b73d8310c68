"""Checks of a VM layer by layer, each with a way to fix it, for `waa-client probe`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from bench_core.agents import Move, Point
from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.errors import BenchError, InputError
from waa_client.actions import DesktopScreen, translate
from waa_client.errors import (
    RouteMissingError,
    TreeUnreadableError,
    VmAnswerError,
    VmError,
    VmTimeoutError,
)
from waa_client.evaluation import EvaluationClient, evaluator_url
from waa_client.installed import answered, question
from waa_client.observations import TreeError, elements_of
from waa_client.pool import vm_urls
from waa_client.timing import TIMINGS
from waa_client.vm import SyncVmClient, VmOptions, calls

# One try, because a user waits for each answer.
_OPTIONS = VmOptions(tries=1)
_REACH = (
    "is the VM up and port 5000 published? WAA's run.sh publishes only 8006 and 3389: run from inside "
    "the container, add `docker run -p 5000:5000`, or tunnel with ssh -L"
)
_WRONG_SERVER = "something else listens there: WAA's server is vm/setup/server/main.py on port 5000"
_BLACK = "open the VM at port 8006 with a browser: is there a lock screen or a dialog, or is it still booting?"
_TREE = "restart the VM's server; the tree needs pywinauto inside the VM"
_CLASSIC = (
    "restart the VM's server, or pass --agent-option tree_backend=win32, which sees classic controls alone; tasks "
    "whose check reads the tree, and that of a browser's address, need uia"
)
_SLOW = (
    "agents read it before every step, and give up after {limit:g} s: close what does not answer, or pass "
    "--agent-option tree_backend=win32, which sees classic controls alone"
)
_ACTION = "restart the VM's server and read its server.log; is pyautogui installed in the VM?"
_LAYOUT = "set Windows' keyboard to English (United States): vanilla's own typing needs it"
_EVALUATOR = (
    "start one with `waa-server-ext serve --vm HOST`, and publish its port (5050 inside WAA's container "
    "needs `-e HOST_PORTS=5050`)"
)


def vm_checks(vms: str | None, evaluators: str | None, *, act: bool = True) -> list[Check]:
    """Return the checks of VMs and evaluators.

    Args:
        vms: Addresses, separated by commas.
        evaluators: The same.
        act: Also run a code block, which moves the pointer.

    Raises:
        InputError: Neither is given, or an address is malformed.
    """
    if not vms and not evaluators:
        raise InputError("nothing to probe: pass --vm URL, --evaluate URL or both")
    checks: list[Check] = []
    silent: set[str] = set()
    for url in vm_urls(vms) if vms else ():
        layers: list[tuple[str, Callable[[SyncVmClient], CheckResult]]] = [
            ("reach", _reach), ("system", _system), ("screenshot", _screenshot),
            ("window", _window), ("accessibility", _accessibility), ("keyboard", _keyboard),
        ]  # fmt: skip
        layers += [("action", _act)] if act else []
        checks += [
            Check(f"{name} {url}", partial(_of_vm, url, layer, silent)) for name, layer in layers
        ]
    return checks + evaluator_checks(evaluators)


def evaluator_checks(evaluators: str | None) -> list[Check]:
    """Return the checks of evaluators."""
    given = [each for each in (evaluators or "").split(",") if each.strip()]
    return [Check(f"evaluate {url}", partial(_evaluator, url)) for url in map(evaluator_url, given)]


def _of_vm(url: str, layer: Callable[[SyncVmClient], CheckResult], silent: set[str]) -> CheckResult:
    """Check one layer; skip it if the VM did not answer below, and note a silent VM in `silent`."""
    if url in silent:
        return warned("not asked, since it gave no answer before")
    try:
        with SyncVmClient(url, _OPTIONS) as vm:
            return layer(vm)
    except RouteMissingError as error:
        return failed(str(error), _WRONG_SERVER)
    except VmError as error:
        # without a picture, the layers after it would wait as long for nothing
        if layer is _reach or (layer is _screenshot and isinstance(error, VmTimeoutError)):
            silent.add(url)
        return failed(str(error), _FIXES[layer])


def _reach(vm: SyncVmClient) -> CheckResult:
    found = vm.send(calls.probe())
    simulated = ": a simulated desktop, results are labelled built-in"
    return ok(found.message + (simulated if found.world == "built-in" else ""))


def _system(vm: SyncVmClient) -> CheckResult:
    name = vm.send(calls.platform())
    return (
        ok(name) if name == "Windows" else warned(f"it runs {name}", "a real WAA VM runs Windows")
    )


def _screenshot(vm: SyncVmClient) -> CheckResult:
    picture, size = vm.send(calls.screenshot()), vm.send(calls.screen_size())
    found = f"{picture.size[0]} x {picture.size[1]}, {len(picture.data) // 1024} KiB"
    if picture.size != size:
        scaled = f"{found}, while the screen is {size[0]} x {size[1]}"
        return warned(scaled, "set Windows' display scaling to 100%; clicks are converted")
    return ok(found)


def _window(vm: SyncVmClient) -> CheckResult:
    seen = vm.send(calls.obs_winagent())
    return ok(f"{seen.title!r} in front, {len(seen.windows)} windows")


def _accessibility(vm: SyncVmClient) -> CheckResult:
    """Read the tree as agents do by default, and say how long it takes."""
    size = vm.send(calls.screen_size())
    began = time.monotonic()
    try:
        xml = vm.send(calls.accessibility("uia"))
    except TreeUnreadableError:
        raise
    except VmAnswerError as error:
        vm.send(calls.accessibility("win32"))
        return failed(f"uia fails, win32 works: {error}", _CLASSIC)
    seconds = time.monotonic() - began
    try:
        elements = elements_of(xml, size)
    except TreeError as error:
        return failed(str(error), _TREE)
    found = f"{len(xml) // 1024} KiB in {seconds:.1f} s, {len(elements)} elements"
    limit = TIMINGS["fast"].uia_s
    if seconds > limit / 2:
        return warned(found, _SLOW.format(limit=limit))
    return ok(found) if elements else warned(f"{found}: agents act on points alone", _TREE)


def _keyboard(vm: SyncVmClient) -> CheckResult:
    found = answered(vm.send(question({})))
    if found.layout is None:
        return ok("its layout is not told")
    if found.types_as_us:
        return ok("United States layout")
    return warned(f"layout {found.layout:#06x}: signs are pasted instead of typed", _LAYOUT)


def _act(vm: SyncVmClient) -> CheckResult:
    """Move the pointer to the middle by a code block, as every action does."""
    picture, size = vm.send(calls.screenshot()), vm.send(calls.screen_size())
    # a block cannot use `computer` before this call
    vm.send(calls.update_computer([], (0, 0, *size), picture.data))
    middle = Move(target=Point(x=size[0] // 2, y=size[1] // 2))
    outcome = vm.send(calls.execute_windows(translate(middle, DesktopScreen(size=size)).code))
    if outcome.ok:
        return ok("a code block moved the pointer")
    return failed(f"the code block failed: {outcome.error}", _ACTION)


_FIXES: dict[Callable[[SyncVmClient], CheckResult], str] = {
    _reach: _REACH, _system: _WRONG_SERVER, _screenshot: _BLACK, _window: _BLACK,
    _accessibility: _TREE, _keyboard: _ACTION, _act: _ACTION,
}  # fmt: skip


def _evaluator(url: str) -> CheckResult:
    try:
        health = asyncio.run(_health(url))
    except BenchError as error:
        return failed(str(error), _EVALUATOR)
    evaluator, vm = health.get("evaluator"), health.get("vm")
    kind = (
        f"{evaluator.get('kind')} {evaluator.get('fidelity')}"
        if isinstance(evaluator, dict)
        else "?"
    )
    if isinstance(vm, dict) and not vm.get("reachable", True):
        return failed(
            f"{kind} evaluators, but it does not reach its VM {vm.get('address')}: {vm.get('error')}",
            "start it with --vm set to the address the VM has from there (20.20.20.21 or 172.30.0.2)",
        )
    where = f", VM {vm.get('address')}" if isinstance(vm, dict) else ""
    return ok(f"{kind} evaluators{where}")


async def _health(url: str) -> dict[str, object]:
    async with EvaluationClient(url, tries=1) as evaluator:
        return await evaluator.health()
