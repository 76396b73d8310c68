"""Two clients of the VM's API, synchronous and asynchronous, over the same calls.

Proxies of the environment are ignored, because VMs are not behind them and users of V2 have set
`HTTPS_PROXY`. A call is repeated only if that cannot have an effect twice: when the connection was never
made, or when the call only reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.serving import token_for
from waa_client.errors import VmAnswerError, VmTimeoutError, VmUnreachableError
from waa_client.vm.wire import VmAnswer, VmCall

T = TypeVar("T")

VM_PORT = 5000
"""The default port of WAA's server."""
VM_TOKEN_VARIABLE = "WAA_VM_TOKEN"  # noqa: S105  # the name of a variable

# With these the request has not left this machine, so repeating it cannot have an effect twice.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_MEBI = 1024**2


@dataclass(frozen=True)
class VmOptions:
    """The settings of calls to a VM.

    Attributes:
        connect_s: Longest time for a connection.
        tries: The most attempts at a call that may be repeated.
        wait_s: Pause before the first repetition; doubles.
        slack: Factor on the time limit of every call, for slow machines.
        most_bytes: Larger answers are refused.
        headers: Sent with every call, e.g. for a gateway that needs a token.
        trust_env: Use the proxies of the environment.
    """

    connect_s: float = 5.0
    tries: int = 3
    wait_s: float = 0.25
    slack: float = 1.0
    most_bytes: int = 256 * _MEBI
    headers: Mapping[str, str] = field(default_factory=dict)
    trust_env: bool = False


def vm_url(text: str) -> str:
    """Return the base URL for a host, `host:port` or URL.

    Raises:
        InputError: It is not an address of these forms.

    >>> vm_url("20.20.20.21"), vm_url("vm:5001"), vm_url("https://gateway/vm3/")
    ('http://20.20.20.21:5000', 'http://vm:5001', 'https://gateway/vm3')
    """
    given = text.strip()
    bare = "://" not in given
    try:
        url = urlsplit(f"http://{given}" if bare else given)
        host, port = url.netloc.rpartition("@")[2], url.port
    except ValueError as error:
        raise InputError(f"{text!r} is not an address: {error}") from error
    if url.scheme not in {"http", "https"} or not host or host[0] == ":" or host[-1] == ":":
        raise InputError(f"{text!r} is not an address: write host, host:port or http://...")
    place = f"{host}:{VM_PORT}" if bare and port is None else host
    return f"{url.scheme}://{place}{url.path.rstrip('/')}"


class VmClient:
    """Asynchronous client of one VM; use it as `async with`.

    Args:
        url: Host, `host:port` or URL of the VM.
        options: Timeouts, tries and the rest.
        transport: Instead of real sockets.
    """

    def __init__(
        self,
        url: str,
        options: VmOptions | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = vm_url(url)
        self.options = options or VmOptions()
        self._http = httpx.AsyncClient(transport=transport, **_settings(self.url, self.options))

    async def send(self, call: VmCall[T]) -> T:
        """Make a call and return its result.

        Raises:
            VmUnreachableError: No answer came.
            VmAnswerError: The answer cannot be used.
            RouteMissingError: The VM's server does not have the route.
        """
        for number in range(1, self.options.tries + 1):
            try:
                return call.result(await self._ask(call))
            except httpx.HTTPError as error:
                if not _may_repeat(call, error, number, self.options):
                    raise _unreachable(self.url, call, error) from error
            await asyncio.sleep(self.options.wait_s * 2 ** (number - 1))
        raise AssertionError("the last try returns or raises")

    async def _ask(self, call: VmCall[Any]) -> VmAnswer:
        request = _request(self._http, self.url, call, self.options)
        limit = call.timeout_s * self.options.slack
        try:
            # httpx's own limit is for each piece, and a header or a body may come byte by byte
            async with asyncio.timeout(limit):
                answer = await self._http.send(request, stream=True)
                try:
                    body = bytearray()
                    async for chunk in answer.aiter_bytes():
                        body += chunk
                        _refuse_oversize(self.url, call, body, self.options)
                finally:
                    await answer.aclose()
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"the answer took longer than {limit:g} s") from error
        return _answer(answer, bytes(body))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class SyncVmClient:
    """Synchronous client of one VM; use it as `with`. See `VmClient`, which it runs in a thread.

    A synchronous client of httpx cannot limit the time of a whole answer, and the caller may run a loop already.
    """

    def __init__(
        self,
        url: str,
        options: VmOptions | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._client = VmClient(url, options, transport=transport)
        self.url, self.options = self._client.url, self._client.options
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def send(self, call: VmCall[T]) -> T:
        """Make a call and return its result; see `VmClient.send`."""
        answer = asyncio.run_coroutine_threadsafe(self._client.send(call), self._loop)
        try:
            return answer.result()
        finally:
            answer.cancel()  # if Ctrl-C ends the wait

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _settings(url: str, options: VmOptions) -> dict[str, Any]:
    token = token_for(url, VM_TOKEN_VARIABLE)  # of a simulated VM; a real one does not use any
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {"trust_env": options.trust_env, "headers": {**headers, **options.headers}}


def _request(
    http: httpx.AsyncClient, base: str, call: VmCall[Any], options: VmOptions
) -> httpx.Request:
    given: dict[str, Any] = {"params": dict(call.params) or None}
    if call.json is not None:
        given["json"] = call.json
    if call.form is not None:
        given["data"] = dict(call.form)
    if call.file is not None:
        given["files"] = {"file_data": call.file}
    timeout = httpx.Timeout(call.timeout_s * options.slack, connect=options.connect_s)
    return http.build_request(call.method, base + call.path, timeout=timeout, **given)


def _answer(answer: httpx.Response, body: bytes) -> VmAnswer:
    kind = answer.headers.get("content-type", "")
    return VmAnswer(str(answer.url), answer.status_code, body, kind)


def _may_repeat(call: VmCall[Any], error: Exception, number: int, options: VmOptions) -> bool:
    safe = call.repeatable or isinstance(error, _NEVER_SENT)
    return safe and number < options.tries


def _unreachable(url: str, call: VmCall[Any], error: Exception) -> VmUnreachableError:
    reason = str(error) or type(error).__name__
    kind = VmTimeoutError if isinstance(error, httpx.ReadTimeout) else VmUnreachableError
    return kind(url, f"{call.method} {call.path} got no answer: {reason}")


def _refuse_oversize(url: str, call: VmCall[Any], body: bytearray, options: VmOptions) -> None:
    """Refuse an answer that is too large."""
    if len(body) > options.most_bytes:
        raise VmAnswerError(
            url, f"{call.method} {call.path} answers more than {options.most_bytes} bytes"
        )
