"""A proxy on loopback that counts and bounds the model calls of agents that bring their own client.

An agent's process knows the address of the proxy and a secret of its trial, in the variables that the
providers' SDKs read. The proxy knows the key: it puts it in the secret's place, passes the call on,
reads the usage from the answer, and reports it to the trial's meter before the agent has the whole
answer. Once the budget is spent, or the trial is over, calls are refused in the provider's own way.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_core.errors import (
    BudgetExceededError,
    EnvironmentFaultError,
    InputError,
    MissingExtraError,
)
from bench_core.models.errors import MissingKeyError
from bench_core.models.kept_calls import PROXIED_CALLS, KeptCalls
from bench_core.models.prices import published_prices
from bench_core.models.proxied_call import ProxiedCall, Server
from bench_core.models.proxy_apis import APIS, error_body, find_call, secret_of, variables_for
from bench_core.models.proxy_http import Responder, read_body
from bench_core.protocols import LatestCall
from bench_core.records import Usage
from bench_core.serving import RefusedRequestError
from bench_core.serving.requests import MOST_HEAD
from bench_core.serving.streams import read_head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bench_core.agent_process.model_calls import Upstream
    from bench_core.models.kept_calls import Answered, Sent
    from bench_core.models.prices import Prices
    from bench_core.models.proxy_apis import Call, Refusal
    from bench_core.protocols import Meter

_HOST = "127.0.0.1"
_NO_KEY = "no-key"
_SECRET_BYTES = 32
_JOIN_S = 5.0
_DRAIN_S = 10.0
_AT_ONCE = 32
_CONNECTIONS = 512
_LOOPBACK = "127.0.0.1,localhost"
_OVER = "this trial is over"


@contextmanager
def open_model_proxy(
    model: str | None = None, upstream: Upstream | None = None, *, drain_s: float = _DRAIN_S
) -> Iterator[LoopbackModelProxy]:
    """Listen on loopback while the block runs.

    Args:
        model: The run's, `provider:name`: only its provider's APIs are there. Without one those are
            whose keys or servers the environment names.
        upstream: Address, key and prices of that model, if they are not the usual ones.
        drain_s: Seconds for which a call is read after its agent has gone.

    Raises:
        MissingKeyError: The environment has no key of the model's provider, and does not name the user's own server.
        InputError: The provider's API is not supported by the proxy, httpx is not installed, or no port can
            be opened.
    """
    prices = getattr(upstream, "prices", None) or published_prices()
    proxy = LoopbackModelProxy(_servers(model, upstream), prices, drain_s)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.close()


def _servers(model: str | None, upstream: Upstream | None) -> dict[str, Server]:
    """Return address and key of each vendor whose calls are passed on."""
    if model is None:
        found = {vendor: _environment(vendor) for vendor in APIS}
        servers = {vendor: Server(address, key) for vendor, (address, key) in found.items() if key}
        if not servers:
            raise InputError(
                "the model proxy has no key to pass calls on with: set one, or name a --model"
            )
        return servers
    vendor = model.partition(":")[0].partition("-")[0]
    if vendor not in APIS:
        raise InputError(
            f"the model proxy passes on calls of anthropic, openai, openai-chat and google, not of {model!r}"
        )
    address, key = _environment(vendor)
    base_url = getattr(upstream, "base_url", None)
    key = getattr(upstream, "key", None) or key or (_NO_KEY if base_url else None)
    if key is None:
        raise MissingKeyError(vendor, APIS[vendor].key_names[0], own_server=True)
    return {vendor: Server(base_url or address, key)}


def _environment(vendor: str) -> tuple[str, str | None]:
    api = APIS[vendor]
    own = next((os.environ[n] for n in api.url_names if os.environ.get(n)), None)
    key = next(
        (os.environ[n] for n in api.key_names if os.environ.get(n)), _NO_KEY if own else None
    )
    return own or api.home, key


class TrialProxy:
    """The calls of one attempt; see `bench_core.agent_process.model_calls.TrialCalls`."""

    def __init__(self, proxy: LoopbackModelProxy, meter: Meter, folder: Path | None) -> None:
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.variables: Mapping[str, str] = proxy.variables_with(self.secret)
        self.refused: str | None = None
        self.latest: LatestCall = getattr(meter, "latest", None) or LatestCall()
        self.notes: list[str] = []
        self.passing: set[asyncio.Task[None]] = set()
        self.over = False
        self._proxy = proxy
        self._meter = meter
        self._calls = None if folder is None else KeptCalls(folder, PROXIED_CALLS)
        self._reason: str | None = None
        self._unreported = 0
        self._lock = threading.Lock()
        # Where calls cost a budget, one after the other: else many could go beyond it together.
        self.slots = asyncio.Semaphore(1 if getattr(meter, "bounded", True) else _AT_ONCE)

    def take(self, usage: Usage) -> bool:
        """Match usage that the agent reports with calls counted here; return whether enough were left to match."""
        calls = max(1, usage.requests)
        with self._lock:
            known = self._unreported >= calls
            self._unreported -= calls if known else 0
        return known

    def refusal(self) -> str | None:
        """Return why no call may be passed on now, and have the trial stop."""
        elsewhere = getattr(self._meter, "exhausted", None)
        if self._reason is None and elsewhere is not None:
            self.spend(Usage(), 0.0)  # another trial spent the rest: this one ends here, too
        self.refused = self._reason
        return self.refused

    def spend(self, usage: Usage, cost_usd: float | None) -> None:
        """Report a call to the meter; if the budget is spent, refuse further calls."""
        with self._lock:
            self._unreported += usage.requests
        try:
            self._meter.spend(usage, cost_usd)
        except BudgetExceededError as error:
            self._reason = str(error)

    def mark(self, flag: str, note: str) -> None:
        """Flag the trial's result, and keep a line for its log."""
        flags = getattr(self._meter, "flags", None)
        if flags is not None:
            flags[flag] = None
        self.notes.append(note)

    def keep(self, sent: Sent, answered: Answered) -> None:
        """Write down a call's request and reply."""
        if self._calls is not None:
            try:
                self._calls.add(sent, answered)
            except EnvironmentFaultError as error:
                self.notes.append(str(error))

    async def close(self) -> None:
        """Pass on no more calls, and return when those under way are counted."""
        await self._proxy.end(self)


class LoopbackModelProxy:
    """Listens on a port of loopback, in its own thread and event loop.

    Attributes:
        url: `http://127.0.0.1:PORT`.
    """

    def __init__(
        self, servers: Mapping[str, Server], prices: Prices | None, drain_s: float = _DRAIN_S
    ) -> None:
        self.url = ""
        self._servers = dict(servers)
        self._prices = prices
        self._drain_s = drain_s
        self._trials: dict[str, TrialProxy] = {}
        self._connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._fault: Exception | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="model proxy", daemon=True)

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of processes that make no calls; the secret in them opens nothing."""
        return self.variables_with("no-key-outside-a-trial")

    def variables_with(self, secret: str) -> dict[str, str]:
        """Return variables that make SDKs call this proxy; loopback is reached without the user's own proxy."""
        direct = {
            name: ",".join(filter(None, (os.environ.get(name), _LOOPBACK)))
            for name in ("NO_PROXY", "no_proxy")
        }
        return {**variables_for(frozenset(self._servers), self.url, secret), **direct}

    def trial(self, meter: Meter, folder: Path | None = None) -> TrialProxy:
        """Begin to take the calls of an attempt, which `meter` counts and which are kept in `folder`."""
        made = TrialProxy(self, meter, folder)
        self._trials[made.secret] = made
        return made

    async def end(self, trial: TrialProxy) -> None:
        """Take no more calls of an attempt; those under way may end within `drain_s`."""
        self._trials.pop(trial.secret, None)
        if self._loop is not None and not self._loop.is_closed():
            ending = asyncio.run_coroutine_threadsafe(self._end(trial), self._loop)
            await asyncio.wrap_future(ending)

    async def _end(self, trial: TrialProxy) -> None:
        trial.over = True
        if trial.passing:
            await asyncio.wait(trial.passing, timeout=self._drain_s)
        for each in list(trial.passing):
            each.cancel()
        if trial.passing:
            await asyncio.gather(*trial.passing, return_exceptions=True)

    def start(self) -> None:
        """Begin to listen.

        Raises:
            InputError: httpx is not installed, or no port can be opened.
        """
        self._thread.start()
        self._ready.wait()
        if not self.url:
            raise InputError(f"the model proxy cannot listen: {self._fault}") from self._fault

    def close(self) -> None:
        """Cut every connection and take no more; safe to call twice."""
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended before
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001  # raised again in the starting thread
            self._fault = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        try:
            import httpx  # only where calls are passed on
        except ImportError as error:
            raise MissingExtraError("it", "httpx", "bench-core", "proxy") from error
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        # a model that thinks for long sends nothing for many minutes
        timeout = httpx.Timeout(connect=20.0, read=1800.0, write=120.0, pool=None)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        async with httpx.AsyncClient(timeout=timeout, limits=limits) as client:
            self._client = client
            server = await asyncio.start_server(self._accept, _HOST, 0, limit=MOST_HEAD)
            self.url = f"http://{_HOST}:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._stop.wait()
            server.close()
            for each in self._tasks:
                each.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a callback that is a coroutine runs in one
        if len(self._tasks) >= _CONNECTIONS:
            writer.close()
            return
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, EOFError):
            pass  # it hung up
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        responder = Responder(writer)
        vendor = None
        try:
            request = await read_head(reader)
            call = find_call(request.method, request.target)
            vendor = None if call is None else call.api.vendor
            trial = self._trials.get(secret_of(request.headers, request.target))
            refusal = self._refusal(call, trial)
            if refusal is None:
                raw, body = await read_body(request, reader, responder)
                assert call is not None  # noqa: S101  # refused above
                assert trial is not None  # noqa: S101  # likewise
                server = self._servers[call.api.vendor]
                passed = ProxiedCall(call, request.headers, raw, body, server, self._prices, trial)
                await self._pass(passed, trial, reader, responder)
        except RefusedRequestError as error:
            refusal = ("too_large" if error.too_large else "request", str(error))
        if refusal is not None:
            await _refuse(responder, vendor, *refusal)

    def _refusal(self, call: Call | None, trial: TrialProxy | None) -> tuple[Refusal, str] | None:
        """Return why a request is not passed on, before its body is read."""
        if trial is None or trial.over:
            return "secret", "this is not the secret of a trial that runs"
        if call is None:
            return "route", "the model proxy of this run passes on calls of models and nothing else"
        if call.api.vendor not in self._servers:
            there = ", ".join(sorted(self._servers))
            return "provider", f"the model proxy of this run passes on calls of {there} only"
        return None

    async def _pass(
        self,
        passed: ProxiedCall,
        trial: TrialProxy,
        reader: asyncio.StreamReader,
        responder: Responder,
    ) -> None:
        """Forward a call; if its agent is gone, it may still end within `drain_s`, and is counted anyway."""

        async def in_turn() -> None:
            async with trial.slots:
                reason = _OVER if trial.over else trial.refusal()
                if reason is None:
                    await passed.run(self._client, responder)
                else:
                    await _refuse(responder, passed.call.api.vendor, "budget", reason)

        work = asyncio.ensure_future(in_turn())
        trial.passing.add(work)
        # the client has sent its whole request: anything read now is the end of its connection
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await asyncio.wait({work}, timeout=self._drain_s)
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
            trial.passing.discard(work)


async def _refuse(responder: Responder, vendor: str | None, why: Refusal, message: str) -> None:
    status, body = error_body(vendor, why, message)
    # OpenAI's and Anthropic's SDKs do not retry a response with this header
    headers: dict[str, Any] = {"content-type": "application/json", "x-should-retry": "false"}
    await responder.whole(status, body, headers)
