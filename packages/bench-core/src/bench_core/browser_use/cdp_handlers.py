"""Let several handlers receive one CDP event.

cdp-use keeps one handler per CDP method, so the last one that is registered replaces all earlier ones.
browser-use 0.11.13 registers one `Page.lifecycleEvent` handler per tab; all but the newest tab's
are lost and every navigation in the others waits for its full timeout, 3 s on the same host and
8 s across hosts. 0.13 loses them only to its own HAR watchdog.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from bench_core.browser_use.patch import SharedPatch

Handler = Callable[[Any, str | None], Any]
LOG = logging.getLogger(__name__)

SHARED_EVENTS = ("Page.lifecycleEvent", "Network.*")
"""Events whose handlers only observe.

Others must be answered exactly once (`Fetch.requestPaused`, `Page.javascriptDialogOpening`) or
have handlers that take any event for their own (`Target.targetCrashed`); there the last handler
still wins.
"""


@contextmanager
def fan_out() -> Iterator[bool]:
    """Give cdp-use several handlers per event while the context lasts.

    Yields whether a change was needed: false once cdp-use does it by itself. Contexts may nest
    and overlap; the last one out restores cdp-use. Registries that were filled meanwhile keep
    their handlers.

    Example:
        >>> from bench_core.browser_use import fan_out, registry_fans_out
        >>> with fan_out():
        ...     registry_fans_out()
        True
    """
    if not _PATCH.active and registry_fans_out():
        yield False
        return
    with _PATCH:
        yield True


def registry_fans_out() -> bool:
    """Try whether an event registry of the installed cdp-use calls two handlers of one event."""
    registry = _registry_class()()
    called: list[int] = []
    for number in range(2):
        registry.register("Page.lifecycleEvent", lambda *_, n=number: called.append(n))
    _run_to_end(registry.handle_event("Page.lifecycleEvent", {}, None))
    return called == [0, 1]


def _run_to_end(coroutine: Any) -> None:
    """Run a coroutine that never waits, inside or outside an event loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("cdp-use's event registry waits where it did not before")


class _Handlers:
    """Handlers of one event that look like one: an error in one does not stop the others."""

    def __init__(self, first: Handler) -> None:
        self.handlers = [first]

    def __call__(self, event: Any, session_id: str | None = None) -> Awaitable[None] | None:
        # A copy: a handler may register another one meanwhile.
        outcomes = [_outcome(each, event, session_id) for each in list(self.handlers)]
        waiting = [each for each in outcomes if inspect.isawaitable(each)]
        return self._wait_for(waiting) if waiting else None

    @staticmethod
    async def _wait_for(waiting: list[Awaitable[Any]]) -> None:
        for each in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(each, Exception):
                LOG.error("a handler of a CDP event failed", exc_info=each)


def _outcome(handler: Handler, event: Any, session_id: str | None) -> Any:
    try:
        return handler(event, session_id)
    except Exception:  # a foreign handler; cdp-use logs its errors the same way
        LOG.exception("a handler of a CDP event failed")
        return None


def _adding(register: Callable[..., None]) -> Callable[..., None]:
    """Return a `register` that adds a handler of `SHARED_EVENTS`; of other events it replaces the last one."""

    def add(self: Any, method: str, callback: Handler) -> None:
        present = self._handlers.get(method)
        if present is None or not any(fnmatchcase(method, each) for each in SHARED_EVENTS):
            register(self, method, callback)
            return
        shared = present if isinstance(present, _Handlers) else _Handlers(present)
        if callback not in shared.handlers:
            shared.handlers.append(callback)
        register(self, method, shared)

    return add


def _registry_class() -> Any:
    from cdp_use.cdp.registry import EventRegistry

    return EventRegistry


_PATCH = SharedPatch(_registry_class, "register", _adding)
