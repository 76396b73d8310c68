"""Bounds on vanilla's code: every HTTP call, every sleep, every file it writes.

Vanilla calls `requests` without timeouts and sleeps as long as a task says. The seam is one level
below both: the adapter that sends every request, and the name `time` in vanilla's own modules.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError as Urllib3Error

from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.document_checks import UnsafeDocumentError, check_document
from waa_server_ext.evaluation.downloads import DownloadError, HostRule, remember
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.vm.client import VM_PORT, BodyStore
from waa_server_ext.vm.exchanges import VmExchange

_VM_PORTS = (VM_PORT, 8080)  # WAA's server, VLC's
_CONNECT_S = 10.0


class _RefusedRequestError(requests.exceptions.RequestException):
    """A request that must not leave, or an answer that must not be accepted."""


@dataclass
class RequestBounds:
    """The limits of one evaluation, and the record of its calls."""

    settings: EvaluatorSettings
    vm: str
    rule: HostRule
    deadline: float | None
    bodies: BodyStore
    record: list[VmExchange] = field(default_factory=list)
    slept: float = 0.0
    used_browser: bool = False

    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()

    def faults(self) -> list[VmExchange]:
        """Calls without an answer: any of them makes a score meaningless."""
        return [each for each in self.record if each.error is not None]


_current: list[RequestBounds] = []
"""The current evaluation; a process runs one at a time."""


@contextlib.contextmanager
def bounded(bounds: RequestBounds) -> Iterator[RequestBounds]:
    """Apply `bounds` to everything vanilla's code does inside."""
    _current.append(bounds)
    try:
        yield bounds
    finally:
        _current.clear()


def install_bounds(modules: Iterable[types.ModuleType]) -> None:
    """Install the seams; once per process, after importing vanilla."""
    adapter: Any = HTTPAdapter
    original = adapter.send

    def send(self: HTTPAdapter, request: requests.PreparedRequest, **options: Any) -> Any:
        if not _current:
            return original(self, request, **options)
        return _send(
            _current[0], lambda **bound: original(self, request, **bound), request, options
        )

    adapter.send = send
    # A module like `time` whose `sleep` ends with the evaluation's deadline
    clock = types.ModuleType("time")
    vars(clock).update({k: v for k, v in vars(time).items() if not k.startswith("__")})
    vars(clock)["sleep"] = _sleep
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is time:
                setattr(module, name, clock)
            elif value is time.sleep:
                setattr(module, name, clock.sleep)
            elif name == "sync_playwright":
                setattr(module, name, _noting(value))


def _sleep(seconds: float) -> None:
    if not _current:
        time.sleep(seconds)
        return
    bounds = _current[0]
    if bounds.settings.skip_sleeps:
        time.sleep(seconds * 0)  # raises for anything but a number
        return
    started = time.monotonic()
    time.sleep(min(seconds, max(bounds.seconds_left(), 0.0)))
    bounds.slept += time.monotonic() - started
    if bounds.seconds_left() <= 0:
        raise TimeoutError("the time for the whole evaluation is used up")


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    def sync_playwright(*arguments: Any, **options: Any) -> Any:
        if _current:
            _current[0].used_browser = True
        return function(*arguments, **options)

    return sync_playwright


def _send(
    bounds: RequestBounds,
    original: Callable[..., requests.Response],
    request: requests.PreparedRequest,
    options: dict[str, Any],
) -> requests.Response:
    url = request.url or ""
    parts = urlsplit(url)
    is_vm = parts.hostname == bounds.vm.strip("[]") and parts.port in _VM_PORTS
    noted = _noted(request)
    started = time.monotonic()
    response, fault = None, None
    try:
        response = _from_assets(bounds, request) if not is_vm else None
        if response is None:
            response = _ask(bounds, original, request, options, is_vm=is_vm)
        check_document(response.content)
    except (_RefusedRequestError, DownloadError, UnsafeDocumentError) as error:
        fault = str(error)
        raise _RefusedRequestError(fault) from error
    except requests.exceptions.RequestException as error:
        fault = f"{type(error).__name__}: {error}"
        raise
    finally:
        kept = response is not None and fault is None
        body = (
            bounds.bodies.keep(response.content, response.headers.get("content-type", ""))
            if kept and response is not None
            else None
        )
        bounds.record.append(
            VmExchange(
                target="vm" if is_vm else "web",
                method=request.method or "GET",
                path=request.path_url if is_vm else url,
                request=noted,
                status=response.status_code if response is not None else None,
                body=body,
                seconds=round(time.monotonic() - started, 6),
                error=fault,
            )
        )
    return response


def _ask(
    bounds: RequestBounds,
    original: Callable[..., requests.Response],
    request: requests.PreparedRequest,
    options: dict[str, Any],
    *,
    is_vm: bool,
) -> requests.Response:
    settings = bounds.settings
    if not is_vm:
        bounds.rule.check(request.url or "")
        if settings.offline:
            raise _RefusedRequestError(
                f"{request.url} is not among the assets, and this is offline"
            )
    longest = settings.vm_timeout_s if is_vm else settings.web_timeout_s
    given = options.get("timeout")  # vanilla's own, for the few calls that have one
    left = min(float(given) if isinstance(given, int | float) else longest, bounds.seconds_left())
    if left <= 0:
        raise _RefusedRequestError("the time for the whole evaluation is used up")
    bound = {
        **options,
        "stream": True,
        "timeout": (min(left, _CONNECT_S), left),
        **({"proxies": {}} if is_vm else {}),
    }
    response: Any = original(**bound)
    # requests keeps it there
    response._content = _read(response, settings.max_download, time.monotonic() + left)
    response._content_consumed = True
    if not is_vm and request.method == "GET":
        remember(settings, request.url or "", response.status_code, response.content)
    answer: requests.Response = response
    return answer


def _read(response: requests.Response, limit: int, until: float) -> bytes:
    """Read the whole answer; a server that drips bytes cannot block us."""
    pieces, size = [], 0
    try:
        for piece in response.raw.stream(65536, decode_content=True):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise _RefusedRequestError(f"the answer has more than {limit} bytes")
            if time.monotonic() > until:
                raise requests.exceptions.ReadTimeout("the answer took too long")
    except Urllib3Error as error:
        raise requests.exceptions.ConnectionError(error) from error
    finally:
        response.close()
    return b"".join(pieces)


def _from_assets(
    bounds: RequestBounds, request: requests.PreparedRequest
) -> requests.Response | None:
    folder = bounds.settings.assets
    held = (
        AssetStore(folder).read(request.url or "") if folder and request.method == "GET" else None
    )
    if held is None:
        return None
    response: Any = requests.Response()
    response.status_code, response.url, response.request = 200, request.url or "", request
    response._content = held  # requests keeps it there
    response._content_consumed = True
    answer: requests.Response = response
    return answer


def _noted(request: requests.PreparedRequest) -> Any:
    """Return the request's body in the form of `VmExchange.request`."""
    body: Any = request.body
    if body is None or body in (b"", ""):
        return None
    kind = str(request.headers.get("Content-Type", ""))
    if hasattr(body, "fields"):  # a multipart encoder
        return {"form": {name: _upload(value) for name, value in dict(body.fields).items()}}
    data = body if isinstance(body, bytes) else str(body).encode()
    if kind.startswith("application/json"):
        return {
            "json": json.loads(
                json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
            )
        }
    if kind.startswith("application/x-www-form-urlencoded"):
        return {"form": dict(parse_qsl(data.decode(), keep_blank_values=True))}
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def _upload(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    name, file = value[0], value[1]
    data = file.read()
    file.seek(0)
    return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
