"""The pool of VMs for trials, each used by one trial at a time on this machine."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import Resource, Task
from bench_core.scheduling import FileLocks, MachineLocks
from waa_client.capabilities import unscored_at
from waa_client.vm import vm_url

__all__ = ["LeasedVm", "VmPool", "VmSource"]

_LONGEST_REST_S = 600.0
_HELD_REST_S = 2.0
_POLL_S = 0.2  # a lock file does not tell when it is released


def vm_resource(url: str) -> str:
    """Return the name under which a VM is held."""
    return f"waa-vm:{url}"


def vm_urls(text: str) -> tuple[str, ...]:
    """Return the base URLs of comma-separated addresses of VMs.

    Raises:
        InputError: An address is invalid or given twice, or there is none.

    >>> vm_urls("20.20.20.21, vm2:5001")
    ('http://20.20.20.21:5000', 'http://vm2:5001')
    """
    urls = tuple(vm_url(each) for each in text.split(",") if each.strip())
    if not urls:
        raise InputError("no VM is given: pass --vm URL[,URL...]")
    if len(set(urls)) < len(urls):
        raise InputError(f"a VM is given twice: {text}")
    return urls


@dataclass
class LeasedVm:
    """The VM of a trial, and its evaluator, if there is one.

    Attributes:
        fault: The fault of VM or evaluator, set by the trial; not that of a model's provider.
        token: The token that both require, if they do not answer everyone.
        restored: Whether a provider has brought it back to a saved state.
    """

    url: str
    evaluator: str | None = None
    fault: EnvironmentFaultError | None = None
    token: str | None = field(default=None, repr=False)
    restored: bool = False


class VmSource(Protocol):
    """A source of VMs for trials."""

    def lease(self, task: Task) -> AbstractAsyncContextManager[LeasedVm]:
        """Reserve a VM for a trial of `task` for the time of the block.

        Errors of the block pass through.
        """
        ...

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score, and how to change that; None if all can."""
        ...


class _HeldElsewhereError(Exception):
    """Another process or pool of this machine holds the VM."""


def _leave(_: Resource) -> None:
    raise _HeldElsewhereError


class VmPool:
    """A pool of VMs, in which the VM with the fewest faults is used first.

    A VM that could not be opened, or failed later, is paused, twice as long after each further fault,
    while working VMs take its tasks: otherwise a dead VM, which fails at once, would take most tasks.
    Lock files exclude other processes of this machine, and other pools: VMs that they hold are left to them
    while another VM is free.

    Args:
        urls: Base URLs.
        locks: Locks of VMs against other processes; by default lock files.
        evaluators: Base URLs of evaluators, one per VM in their order; without any, trials are not
            scored.
        rest_s: How long a VM is paused after its first fault.
        longest_wait_s: Longest wait while others hold every VM; by default as long as they do.

    Raises:
        InputError: VMs and evaluators do not pair up.
    """

    def __init__(
        self,
        urls: Sequence[str],
        locks: MachineLocks | None = None,
        *,
        evaluators: Sequence[str] = (),
        rest_s: float = 30.0,
        longest_wait_s: float = math.inf,
    ) -> None:
        self.urls = tuple(urls)
        # An evaluator serves one VM
        if evaluators and len(evaluators) != len(urls):
            raise InputError(
                f"{len(urls)} VMs need {len(urls)} evaluators in the same order, got {len(evaluators)}: "
                f"each evaluator is for one VM"
            )
        self._evaluators = dict(zip(urls, evaluators, strict=False))
        self._locks = locks or FileLocks()
        self._rest_s, self._longest_wait_s = rest_s, longest_wait_s
        self._free = list(urls)
        self._faults = dict.fromkeys(urls, 0)
        self._rests_until = dict.fromkeys(urls, 0.0)
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def lease(self, task: Task) -> AsyncIterator[LeasedVm]:
        """Reserve a VM for the time of the block; wait until one is free.

        Errors of the block pass through; an environment fault counts against the VM, as does the one
        that the trial leaves in the machine.

        Raises:
            EnvironmentFaultError: Others hold every VM for longer than the pool may wait.
        """
        del task  # any VM can run any task
        with ExitStack() as held:
            url = await self._take(held)
            machine = LeasedVm(url=url, evaluator=self._evaluators.get(url))
            try:
                yield machine
            except EnvironmentFaultError:
                self._note_fault(url)
                raise
            else:
                if machine.fault is not None:
                    self._note_fault(url)
                else:
                    self._faults[url], self._rests_until[url] = 0, 0.0
            finally:
                self._free.append(url)
                self._changed.set()

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score: evaluators, or parts that metrics need, are missing."""
        if not self._evaluators:
            return (
                "no trial would have a score, and none can be scored afterwards: name the evaluator of each VM "
                "with --evaluate URL"
            )
        return unscored_at(tasks, self._evaluators.values())

    async def _take(self, held: ExitStack) -> str:
        ends = time.monotonic() + self._longest_wait_s
        while True:
            url, wait_s = self._next(time.monotonic())
            if url is None:
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), wait_s)
                continue
            self._free.remove(url)
            try:
                locked = await self._locks.acquire([Resource(name=vm_resource(url))], _leave)
            except BaseException as error:
                self._free.append(url)
                if not isinstance(error, _HeldElsewhereError):
                    raise
                if time.monotonic() > ends:
                    raise EnvironmentFaultError(
                        f"other sessions or runs hold every VM of the {len(self.urls)} that are named: name one for each session"
                    ) from None
            else:
                held.callback(locked.release)
                return url
            self._rests_until[url] = max(self._rests_until[url], time.monotonic() + _HELD_REST_S)
            await asyncio.sleep(_POLL_S)

    def _next(self, now: float) -> tuple[str | None, float | None]:
        """Return a free VM, or the longest time to wait for one."""
        awake = [url for url in self._free if self._rests_until[url] <= now]
        if awake:
            return min(awake, key=lambda url: self._faults[url]), None
        if not self._free:
            return None, None
        soonest = min(self._free, key=lambda url: self._rests_until[url])
        works_elsewhere = any(
            self._rests_until[url] <= now for url in self.urls if url not in self._free
        )
        if not works_elsewhere:
            return soonest, None  # no other VM could take the task
        return None, self._rests_until[soonest] - now

    def _note_fault(self, url: str) -> None:
        self._faults[url] += 1
        # the exponent has a limit, because 2.0 ** 1024 raises
        rest_s = min(_LONGEST_REST_S, self._rest_s * 2.0 ** min(self._faults[url] - 1, 10))
        self._rests_until[url] = time.monotonic() + rest_s
