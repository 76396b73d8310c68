"""Keep browser-use from handling Ctrl-C.

`Agent.run` replaces the event loop's SIGINT and SIGTERM handlers with ones that pause the agent
and then kill the process, and leaves none behind. A run of many trials handles Ctrl-C itself.
browser-use 0.13 has `enable_signal_handler=False`; 0.11.13 needs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench_core.browser_use.patch import SharedPatch


@contextmanager
def without_signal_handlers() -> Iterator[None]:
    """Keep `Agent.run` from changing the process's signal handlers while the context lasts."""
    with _PATCH:
        yield


def _utils() -> Any:
    import browser_use.utils

    return browser_use.utils


def _quiet(handler: Any) -> Any:
    """Return a signal handler class that never registers anything."""
    # A subclass, so that other attributes that browser-use reads from the class still exist.
    return type("QuietSignalHandler", (handler,), {"register": _nothing, "unregister": _nothing})


def _nothing(self: Any) -> None:
    """Leave the signals as they are."""


_PATCH = SharedPatch(_utils, "SignalHandler", _quiet)
