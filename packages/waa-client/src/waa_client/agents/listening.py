"""Listens to the model calls that an agent's own code makes over httpx, httpx2 and requests.

A class of somebody's checkout takes no transport and has no meter. So the libraries' one method that
sends is wrapped for as long as such an agent works, as tracing tools do; only calls from within its
`Ear.listening` are heard, whatever else runs in the process.
"""

from __future__ import annotations

import importlib
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from bench_core.models.wire import WireCall, is_model_call, read_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Ear"]

_PLACES = (
    ("httpx", "Client"),
    ("httpx", "AsyncClient"),
    ("httpx2", "Client"),
    ("httpx2", "AsyncClient"),
    ("requests", "Session"),
)
_lock = threading.Lock()
_wrapped: list[tuple[type, Any]] = []
_users = 0


class Ear:
    """What was heard of one agent's model calls since somebody last asked; safe in any thread."""

    def __init__(self) -> None:
        self._heard: list[WireCall] = []
        self._lock = threading.Lock()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the calls that are made in this block, and in threads that take its context along."""
        with _sending_wrapped():
            token = _ear.set(self)
            try:
                yield
            finally:
                _ear.reset(token)

    def hear(self, call: WireCall) -> None:
        """Add a call."""
        with self._lock:
            self._heard.append(call)

    def take(self) -> list[WireCall]:
        """Return what was heard, and forget it."""
        with self._lock:
            heard, self._heard = self._heard, []
        return heard


_ear: ContextVar[Ear | None] = ContextVar("ear", default=None)


@contextmanager
def _sending_wrapped() -> Iterator[None]:
    global _users  # noqa: PLW0603  # how many need it, under the lock
    with _lock:
        _users += 1
        if _users == 1:
            _wrap_all()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                while _wrapped:
                    kind, send = _wrapped.pop()
                    kind.send = send  # type: ignore[attr-defined]  # as it was


def _wrap_all() -> None:
    for module, name in _PLACES:
        try:
            kind = getattr(importlib.import_module(module), name)
        except ImportError:
            continue
        _wrapped.append((kind, kind.send))
        kind.send = (_heard_async if name == "AsyncClient" else _heard)(kind.send)


def _heard(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    def sending(client: Any, request: Any, *arguments: Any, **options: Any) -> Any:
        ear = _listener(request)
        if ear is None:
            return send(client, request, *arguments, **options)
        try:
            answer = send(client, request, *arguments, **options)
        except Exception as error:
            ear.hear(_lost(error))
            raise
        ear.hear(_answered(answer, streams=bool(options.get("stream"))))
        return answer

    return sending


def _heard_async(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    async def sending(client: Any, request: Any, *arguments: Any, **options: Any) -> Any:
        ear = _listener(request)
        if ear is None:
            return await send(client, request, *arguments, **options)
        try:
            answer = await send(client, request, *arguments, **options)
        except Exception as error:
            ear.hear(_lost(error))
            raise
        ear.hear(_answered(answer, streams=bool(options.get("stream"))))
        return answer

    return sending


def _listener(request: Any) -> Ear | None:
    ear = _ear.get()
    if ear is None or not is_model_call(str(request.method), str(request.url)):
        return None
    return ear


def _lost(error: Exception) -> WireCall:
    return WireCall("failed", said=str(error) or type(error).__name__)


def _answered(answer: Any, *, streams: bool) -> WireCall:
    kind = str(answer.headers.get("content-type") or "")
    return read_answer(int(answer.status_code), None if streams else answer.content, kind)
