"""Bringing a VM back to where a trial may start: windows closed, downloads gone, or a snapshot."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bench_core.errors import EnvironmentFaultError, InputError
from waa_client.errors import VmAnswerError, VmUnreachableError, WrongWorldError
from waa_client.vm import calls

if TYPE_CHECKING:
    from bench_core.records import World
    from waa_client.pace import Clock, Pace
    from waa_client.vm import ServerInfo, VmClient

__all__ = ["reset", "run_hook", "wait_for_vm"]

_HOOK_S = 1800.0
_SHOWN = 500


async def reset(  # noqa: PLR0913  # keywords with defaults
    vm: VmClient,
    pace: Pace,
    clock: Clock,
    world: World = "real",
    hook: str | None = None,
    *,
    boot_s: float = 300.0,
) -> tuple[str, ...]:
    """Reset the VM and return flags of what did not work and vanilla ignores.

    WAA has no reset between tasks: it closes windows and empties the downloads, and everything else
    an earlier task did stays. `hook` is your way to a real one, see `run_hook`. A simulation is put
    back to its start.

    Raises:
        WrongWorldError: The VM says that it is not of the run's `world`.
        EnvironmentFaultError: The VM does not come up, or the hook fails.
    """
    flags = []
    if hook is not None:
        await run_hook(hook, vm.url)
        await wait_for_vm(vm, pace, clock, boot_s)
    if not (await vm.send(calls.close_all())).ok:
        flags.append("windows_not_closed")
    await clock.sleep(pace.after_close_s)
    found = await wait_for_vm(vm, pace, clock, boot_s)
    if found.world != world:
        raise WrongWorldError(vm.url, found.world, world)
    if found.world == "built-in":
        await vm.send(calls.reset_simulation())
    if not (await vm.send(calls.clear_task_files())).ok:
        flags.append("downloads_not_cleared")
    return tuple(flags)


async def wait_for_vm(
    vm: VmClient, pace: Pace, clock: Clock, longest_s: float = 300.0
) -> ServerInfo:
    """Wait until the VM's server answers, and return what it says.

    Raises:
        VmUnreachableError: It did not within the pace's patience, or within `longest_s` where it
            takes calls and answers none.
    """
    end = clock.now() + longest_s
    for number in range(pace.boot_polls):
        try:
            return await vm.send(calls.probe())
        except (VmUnreachableError, VmAnswerError) as error:  # an answer of a server half-way up
            problem = error
        if clock.now() >= end:
            break
        if number + 1 < pace.boot_polls:
            await clock.sleep(pace.poll_s)
    raise VmUnreachableError(vm.url, f"the VM does not come up: {problem}")


async def run_hook(hook: str, url: str) -> None:
    """Run your own command that restores the VM; `{url}` and `{host}` in it are filled in.

    Raises:
        EnvironmentFaultError: It does not exit with 0 within half an hour.
        InputError: It is no command.

    >>> import asyncio
    >>> asyncio.run(run_hook("test {host} = 127.0.0.1", "http://127.0.0.1:5000"))
    """
    host = urlsplit(url).hostname or ""
    words = [each.replace("{url}", url).replace("{host}", host) for each in _split(hook)]
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"the reset command {hook!r} cannot be run: {error}") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _HOOK_S)
    except TimeoutError:
        raise EnvironmentFaultError(f"the reset command {hook!r} took over {_HOOK_S:g} s") from None
    finally:
        _end(process)
    if process.returncode:
        said = output.decode("utf-8", "replace").strip()[-_SHOWN:]
        raise EnvironmentFaultError(
            f"the reset command {hook!r} ended with {process.returncode}: {said}"
        )


def _split(hook: str) -> list[str]:
    try:
        words = shlex.split(hook)
    except ValueError as error:
        raise InputError(f"the reset command {hook!r} is no command: {error}") from error
    if not words:
        raise InputError("the reset command is empty")
    return words


def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
