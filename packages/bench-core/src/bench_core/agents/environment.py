"""What agents act on, and how a handle that survived pickling becomes it again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bench_core.errors import InputError
from bench_core.protocols import BrowserHandle, EnvironmentHandle, TextHandle

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from bench_core.agents.records import Action, ActionResult, Observation

__all__ = ["Connect", "Environment", "connect"]


@runtime_checkable
class Environment(Protocol):
    """Shows itself and lets itself be acted on: a desktop, a browser, a drawn page."""

    async def observe(self) -> Observation:
        """Return what there is to see now.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...

    async def act(self, action: Action) -> ActionResult:
        """Do one thing; what the agent got wrong is in the result, not raised.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...


class Connect(Protocol):
    """Turns a handle into an environment for the time of a `with` block."""

    def __call__(self, handle: EnvironmentHandle) -> AbstractAsyncContextManager[Environment]:
        """Connect to the environment behind `handle`."""
        ...


def connect(handle: EnvironmentHandle) -> AbstractAsyncContextManager[Environment]:
    """Connect to a browser over CDP, or to a desktop that answers `/observe` and `/act`.

    In the process that opened the environment, the opened one itself is used.

    Raises:
        InputError: There is nothing to look at or to act on.
    """
    if isinstance(handle.live, Environment):
        return contextlib.nullcontext(handle.live)
    if isinstance(handle, TextHandle):
        raise InputError("the task is all text: there is no environment to connect to")
    if isinstance(handle, BrowserHandle):
        from bench_core.agents.browser import connect_browser  # noqa: PLC0415  # needs an extra

        return connect_browser(handle)
    from bench_core.agents.remote import connect_remote  # noqa: PLC0415  # keeps imports light

    return connect_remote(handle)
