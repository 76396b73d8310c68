"""Reset of a VM before a trial: closing windows and deleting downloads, or a command of the user's."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from urllib.parse import urlsplit

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import World
from waa_client.errors import VmAnswerError, VmUnreachableError, WrongWorldError
from waa_client.timing import SleepClock, Timing
from waa_client.vm import ServerInfo, VmClient, calls

_HOOK_S = 1800.0
_SHOWN = 500


async def reset(
    vm: VmClient,
    timing: Timing,
    clock: SleepClock,
    world: World = "real",
    hook: str | None = None,
    *,
    boot_s: float = 300.0,
) -> tuple[str, ...]:
    """Reset the VM and return flags for failures that vanilla ignores.

    WAA does not reset between tasks (its server answers 501 to `/revert_to_snapshot`): it closes windows
    and empties the downloads, and all other changes of earlier tasks stay. `hook` is the user's command
    for a real reset, see `run_hook`. A simulation is reset to its initial state.

    Raises:
        WrongWorldError: The VM reports another world than the run's.
        EnvironmentFaultError: The VM does not answer in time, or the hook fails.
    """
    flags = []
    if hook is not None:
        await run_hook(hook, vm.url)
        await wait_for_vm(vm, timing, clock, boot_s)
    # the server's pygetwindow often raises here, which vanilla ignores
    if not (await vm.send(calls.close_all())).ok:
        flags.append("windows_not_closed")
    # none but in vanilla's timing, which waits 5 s here
    await clock.sleep(timing.after_close_s)
    found = await wait_for_vm(vm, timing, clock, boot_s)
    # a VM does not report by itself that it runs under Wine
    if (found.world == "built-in") != (world == "built-in"):
        raise WrongWorldError(vm.url, found.world, world)
    if found.world == "built-in":
        await vm.send(calls.simulation("reset"))
    cleared = await vm.send(calls.clear_task_files())
    # the server also answers 200 if it could not remove something
    if not cleared.ok or cleared.message.startswith("Failed"):
        flags.append("downloads_not_cleared")
    return tuple(flags)


async def wait_for_vm(
    vm: VmClient, timing: Timing, clock: SleepClock, longest_s: float = 300.0
) -> ServerInfo:
    """Wait until the VM's server answers, and return its answer.

    Raises:
        VmUnreachableError: It did not within the timing's polls, or within `longest_s` if it accepts
            calls and does not answer.
    """
    end = clock.now() + longest_s
    for number in range(timing.boot_polls):
        try:
            return await vm.send(calls.probe())
        except (
            VmUnreachableError,
            VmAnswerError,
        ) as error:  # also an answer of a server that is still starting
            problem = error
        if clock.now() >= end:
            break
        if number + 1 < timing.boot_polls:
            await clock.sleep(timing.poll_s)
    raise VmUnreachableError(vm.url, f"the VM does not start: {problem}")


async def run_hook(hook: str, url: str) -> None:
    """Run the user's command that restores the VM; `{url}` and `{host}` in it are filled in.

    Raises:
        EnvironmentFaultError: It does not exit with 0 within half an hour.
        InputError: It is not a command.

    >>> import asyncio
    >>> asyncio.run(run_hook("test {host} = 127.0.0.1", "http://127.0.0.1:5000"))
    """
    host = urlsplit(url).hostname or ""
    words = [each.replace("{url}", url).replace("{host}", host) for each in _split(hook)]
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            # in a new session, so that `_end` can kill its children, too
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"the reset command {hook!r} cannot be run: {error}") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _HOOK_S)
    except TimeoutError:
        raise EnvironmentFaultError(f"the reset command {hook!r} took over {_HOOK_S:g} s") from None
    finally:
        if process.returncode is None:
            # the whole group: what a shell has started would go on without it
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        printed = output.decode("utf-8", "replace").strip()[-_SHOWN:]
        raise EnvironmentFaultError(
            f"the reset command {hook!r} ended with {process.returncode}: {printed}"
        )


def _split(hook: str) -> list[str]:
    try:
        words = shlex.split(hook)
    except ValueError as error:
        raise InputError(f"the reset command {hook!r} is not a command: {error}") from error
    if not words:
        raise InputError("the reset command is empty")
    return words
