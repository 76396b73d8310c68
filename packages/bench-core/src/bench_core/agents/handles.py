"""How a handle that survived pickling becomes an environment again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from bench_core.agents.environment import Environment
from bench_core.agents.remote_environment import RemoteEnvironment
from bench_core.errors import InputError
from bench_core.protocols import BrowserHandle, EnvironmentHandle, TextHandle

Connect = Callable[[EnvironmentHandle], AbstractAsyncContextManager[Environment]]
"""Turns a handle into an environment for the time of a `with` block."""


def connect(handle: EnvironmentHandle) -> AbstractAsyncContextManager[Environment]:
    """Connect to a browser over CDP, or to a desktop that answers `/observe` and `/act`.

    In the process that opened the environment, the opened one itself is used.

    Raises:
        InputError: There is nothing to look at or to act on.
    """
    if isinstance(handle.live, Environment):
        return nullcontext(handle.live)
    if isinstance(handle, TextHandle):
        raise InputError("the task is all text: there is no environment to connect to")
    if isinstance(handle, BrowserHandle):
        from bench_core.agents.browser import connect_browser  # needs an extra

        return connect_browser(handle)
    remote = RemoteEnvironment(handle.url, headers=dict(handle.headers), timeout_s=handle.timeout_s)
    return nullcontext(remote)
