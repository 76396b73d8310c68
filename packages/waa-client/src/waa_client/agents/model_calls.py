"""Recording of model calls that an agent's own code makes with httpx, httpx2 and requests.

A class of a checkout takes no transport and has no meter. So the libraries' one method that sends is
wrapped while such an agent works, as tracing tools do; only calls within its `CallRecorder.recording` are
recorded, whatever else runs in the process.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from bench_core.models import WireCall, is_model_call, read_answer

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


class CallRecorder:
    """The recorded model calls of one agent since the last `take`; safe in any thread."""

    def __init__(self) -> None:
        self._calls_made: list[WireCall] = []
        self._lock = threading.Lock()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls that are made in this block, and in threads with a copy of its context."""
        with _sending_wrapped():
            token = _current.set(self)
            try:
                yield
            finally:
                _current.reset(token)

    def add(self, call: WireCall) -> None:
        """Record a call."""
        with self._lock:
            self._calls_made.append(call)

    def take(self) -> list[WireCall]:
        """Return the recorded calls, and clear them."""
        with self._lock:
            recorded, self._calls_made = self._calls_made, []
        return recorded


_current: ContextVar[CallRecorder | None] = ContextVar("recorder", default=None)


@contextmanager
def _sending_wrapped() -> Iterator[None]:
    global _users  # noqa: PLW0603  # number of users, under the lock
    with _lock:
        _users += 1
        if _users == 1:
            for module, name in _PLACES:
                try:
                    kind = getattr(importlib.import_module(module), name)
                except ImportError:
                    continue
                _wrapped.append((kind, kind.send))
                kind.send = (_recorded_async if name == "AsyncClient" else _recorded)(kind.send)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            # several trials of a process may record at once: the last one restores the libraries
            if not _users:
                while _wrapped:
                    kind, send = _wrapped.pop()
                    kind.send = send  # type: ignore[attr-defined]  # as it was


def _recorded(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    def sending(client: Any, request: Any, *arguments: Any, **options: Any) -> Any:
        recorder = _recorder_of(request)
        if recorder is None:
            return send(client, request, *arguments, **options)
        try:
            answer = send(client, request, *arguments, **options)
        except Exception as error:
            recorder.add(_lost(error))
            raise
        recorder.add(_answered(answer, streams=bool(options.get("stream"))))
        return answer

    return sending


def _recorded_async(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    async def sending(client: Any, request: Any, *arguments: Any, **options: Any) -> Any:
        recorder = _recorder_of(request)
        if recorder is None:
            return await send(client, request, *arguments, **options)
        try:
            answer = await send(client, request, *arguments, **options)
        except Exception as error:
            recorder.add(_lost(error))
            raise
        recorder.add(_answered(answer, streams=bool(options.get("stream"))))
        return answer

    return sending


def _recorder_of(request: Any) -> CallRecorder | None:
    recorder = _current.get()
    if recorder is None or not is_model_call(str(request.method), str(request.url)):
        return None
    return recorder


def _lost(error: Exception) -> WireCall:
    return WireCall("failed", reason=str(error) or type(error).__name__, kind="connection")


def _answered(answer: Any, *, streams: bool) -> WireCall:
    kind = str(answer.headers.get("content-type") or "")
    return read_answer(int(answer.status_code), None if streams else answer.content, kind)
