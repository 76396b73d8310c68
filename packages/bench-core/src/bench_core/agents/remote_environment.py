"""Environments over HTTP: a desktop's handle is then a URL that survives pickling.

`GET /observe` answers an `Observation`, `POST /act` takes an `Action` and answers an
`ActionResult`, `GET /offers` answers the list of kinds of actions that work; a fault of the environment is status 503 with `{"error": ...}`, any other error of it 500.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents.environment import CLASSIC, Environment, offered
from bench_core.agents.records import Action, ActionResult, Observation
from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import DesktopHandle
from bench_core.records.codec import decode_json
from bench_core.serving import BoundedHandler, BoundedServer

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)
_UNAVAILABLE = 503
_FAILED = 500
_BAD_REQUEST = 400
# Loopback and VMs are never behind the user's proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RemoteEnvironment:
    """An environment behind a URL."""

    def __init__(
        self, url: str, *, headers: dict[str, str] | None = None, timeout_s: float = 60.0
    ) -> None:
        self.url = url.rstrip("/")
        self._headers = headers or {}
        self._timeout_s = timeout_s

    async def observe(self) -> Observation:
        """Return the observation; see `Environment`."""
        return Observation.model_validate(await self._call("/observe", None))

    async def act(self, action: Action) -> ActionResult:
        """Do one thing; see `Environment`."""
        reply = await self._call("/act", action.model_dump(mode="json"))
        return ActionResult.model_validate(reply)

    async def offers(self) -> frozenset[str]:
        """Return the kinds of actions that work; `CLASSIC` from a server that does not say."""
        try:
            kinds = await self._call("/offers", None)
        except EnvironmentFaultError as error:
            if isinstance(error.__cause__, urllib.error.HTTPError):
                return CLASSIC
            raise
        # servers older than this question answer every GET with an observation
        return frozenset(map(str, kinds)) if isinstance(kinds, list) else CLASSIC

    async def _call(self, path: str, body: Any) -> Any:
        url = self.url + path
        try:
            return await asyncio.to_thread(post_json, url, body, self._headers, self._timeout_s)
        except urllib.error.HTTPError as error:
            said = str(error)
            with suppress(OSError, ValueError, KeyError, TypeError):  # no words of the environment
                said = str(decode_json(error.read())["error"])
            raise EnvironmentFaultError(f"{url}: {said}") from error
        except (OSError, ValueError) as error:
            raise EnvironmentFaultError(f"{url} does not answer: {error}") from error


def post_json(url: str, body: Any, headers: dict[str, str], timeout_s: float) -> Any:
    """POST JSON (or GET, without a body) and return the JSON that came back.

    Raises:
        OSError: No answer, or an HTTP error status (`urllib.error.HTTPError`).
        ValueError: The answer is not JSON.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an HTTP URL")
    data = None if body is None else json.dumps(body).encode("utf-8")
    request = urllib.request.Request(  # noqa: S310  # the user's own URL, checked to be HTTP
        url, data=data, headers={"content-type": "application/json", **headers}
    )
    with _OPENER.open(request, timeout=timeout_s) as answer:
        return decode_json(answer.read())


@asynccontextmanager
async def serve_environment(
    environment: Environment, port: int = 0
) -> AsyncIterator[DesktopHandle]:
    """Offer an environment of this process on loopback for the time of the block.

    Calls run in this event loop, one after another. The address has a token, so that no other program
    acts there.
    """
    server = _EnvironmentServer(("127.0.0.1", port), _EnvironmentHandler)
    server.environment, server.loop = environment, asyncio.get_running_loop()
    server.token = secrets.token_urlsafe(24)
    server.start()
    try:
        yield DesktopHandle(url=f"http://127.0.0.1:{server.server_address[1]}/{server.token}")
    finally:
        await asyncio.to_thread(server.stop)


class _EnvironmentServer(BoundedServer):
    environment: Environment
    loop: asyncio.AbstractEventLoop


class _EnvironmentHandler(BoundedHandler):
    server: _EnvironmentServer

    def do_GET(self) -> None:
        environment = self.server.environment
        if self.path == "/offers":
            self._answer(offered(environment))
        else:
            self._answer(environment.observe())

    def do_POST(self) -> None:
        try:
            action = _ACTION.validate_json(self.body)
        except ValidationError as error:
            self._send(_BAD_REQUEST, {"error": str(error)})
        else:
            self._answer(self.server.environment.act(action))

    def _answer(self, call: Any) -> None:
        future = asyncio.run_coroutine_threadsafe(call, self.server.loop)
        try:
            answer = future.result()
            kinds = isinstance(answer, frozenset)
            value = sorted(answer) if kinds else answer.model_dump(mode="json")
            self._send(200, value)
        except EnvironmentFaultError as error:
            self._send(_UNAVAILABLE, {"error": str(error)})
        # The environment may be anybody's; a dropped connection would say less about the error.
        except Exception as error:  # noqa: BLE001
            self._send(_FAILED, {"error": f"{type(error).__name__}: {error}"})

    def _send(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode("utf-8")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
