"""Every server that Proctor starts, in this process, and what honest clients ask of each.

`python all_servers.py` prints what they are, a JSON list on one line, and ends when its input does.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hostile_requests import Target

from bench_core.agents import ActionResult, Observation, serve_environment
from bench_core.browser import open_gateway
from bench_core.budgets import Budget, RunBudget
from bench_core.models import open_model_proxy
from bench_core.serving import BoundedHandler, BoundedServer
from bench_core.sessions import SessionSettings
from bench_core.testing import make_run
from multireal_harness.world import BuiltInWorld as Apps
from waa_server_ext.built_in import SimulatedDesktopWorld
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.vm import VmState
from webarena_runner.world import BuiltInWorld as Sites

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_support.model_server import Answer, ModelServer  # needs the path above

if TYPE_CHECKING:
    from collections.abc import Iterator


# nothing but commands starts these, so that they are in no list of public names
_PIPE = importlib.import_module("bench_core.browser.pipe_server")
_LIVE = importlib.import_module("bench_report.live.server")
_REPLAY = importlib.import_module("waa_server_ext.fixture.replay")
_PAGES = {"gitlab": "/users/sign_in", "shopping_admin": "/admin"}


def serve() -> None:
    """Start every server, print what they are, and answer until the input ends."""
    asyncio.run(_serve())


async def _serve() -> None:
    folder = Path.cwd()
    with contextlib.ExitStack() as stack:
        async with contextlib.AsyncExitStack() as later:
            targets = [
                *_model_servers(stack),
                await _environment(later),
                await _gateway(stack, later),
                _devtools(stack),
                _report(stack, folder),
                await _sessions(later),
                *await _worlds(stack, later, folder),
            ]
            sys.stdout.write(json.dumps([vars(each) for each in targets]) + "\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


def _model_servers(stack: contextlib.ExitStack) -> Iterator[Target]:
    def answer(_seen: Any) -> Answer:
        server.requests.clear()  # what it was asked is kept for tests to look at
        return Answer(text="yes", model="m")

    server = stack.enter_context(ModelServer(answer))
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    paths = (("POST", "/v1/messages", body), ("GET", "/v1/models/m", None))
    yield Target("model server", *_place(server.base_url("anthropic")), paths)
    os.environ |= {"ANTHROPIC_BASE_URL": server.base_url("anthropic"), "ANTHROPIC_API_KEY": "k"}
    proxy = stack.enter_context(open_model_proxy("anthropic:m"))
    trial = proxy.trial(RunBudget(Budget()).meter())
    yield Target("model proxy", *_place(proxy.url), paths[:1], {"x-api-key": trial.secret})


async def _environment(stack: contextlib.AsyncExitStack) -> Target:
    class Still:
        async def observe(self) -> Observation:
            return Observation(text="a still desktop")

        async def act(self, action: Any) -> ActionResult:
            return ActionResult(action=action.kind, ok=True)

    handle = await stack.enter_async_context(serve_environment(Still()))  # type: ignore[arg-type]  # as much as is asked
    token = urlsplit(handle.url).path
    paths = (("GET", f"{token}/observe", None), ("GET", f"{token}/offers", None))
    return Target("environment", *_place(handle.url), paths)


async def _gateway(stack: contextlib.ExitStack, later: contextlib.AsyncExitStack) -> Target:
    class Browser(BoundedHandler):
        """Answers as Chromium's port does, and takes what comes on a websocket."""

        def do_GET(self) -> None:
            if "Upgrade" in self.headers:
                self.send_response(101)
                self.end_headers()
                while self.rfile.read1(1 << 16):  # type: ignore[attr-defined]  # a buffered reader
                    pass
                self.close_connection = True
                return
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        do_PUT = do_GET  # same

    browser = stack.enter_context(BoundedServer(("127.0.0.1", 0), Browser))
    browser.start()
    stack.callback(browser.stop)
    url = f"http://127.0.0.1:{browser.server_address[1]}"
    gateway = await later.enter_async_context(open_gateway(url))
    secret = urlsplit(gateway.cdp_url).path
    paths = (("GET", f"{secret}/json/version", None), ("GET", f"{secret}/json/list", None))
    return Target("gateway", *_place(gateway.cdp_url), paths, relays=True)


def _devtools(stack: contextlib.ExitStack) -> Target:
    """Serve the pipe of a Chromium that answers each command with what any of them gives."""
    orders, answers = os.pipe(), os.pipe()
    result = {
        "targetInfo": {"targetId": "1"}, "targetInfos": [], "sessionId": "1", "product": "Chrome/1", "protocolVersion": "1.3",
        "userAgent": "x", "jsVersion": "1",
    }  # fmt: skip

    def answer() -> None:
        arrived = b""
        while more := os.read(orders[0], 1 << 16):
            *whole, arrived = (arrived + more).split(b"\0")
            for message in whole:
                answer = {"id": json.loads(message)["id"], "result": result}
                os.write(answers[1], json.dumps(answer).encode() + b"\0")

    threading.Thread(target=answer, daemon=True).start()
    stack.callback(os.close, orders[1])
    url = _PIPE.PipeServer(orders[1], answers[0], "0" * 32).serve()
    secret = urlsplit(url).path
    paths = (("GET", f"{secret}/json/version", None), ("GET", f"{secret}/json/list", None))
    return Target("Chromium's DevTools", *_place(url), paths)


def _report(stack: contextlib.ExitStack, folder: Path) -> Target:
    server = _LIVE.serve([make_run(folder / "run", tasks=3)])
    server.start()
    stack.callback(server.stop)
    paths = (("GET", "/", None), ("GET", "/state", None))
    return Target("report", *_place(server.url), paths)


async def _sessions(stack: contextlib.AsyncExitStack) -> Target:
    openenv = importlib.import_module("bench_core.sessions.openenv")
    serving = importlib.import_module("bench_core.sessions.serving")
    limits, token = serving.Limits(), "a-long-token"
    server = openenv.OpenEnvServer("waa", SessionSettings(), limits)
    where = {"token": token, "open_paths": openenv.OPEN_PATHS, "limits": limits}
    url = await stack.enter_async_context(serving.serve(server.handle, **where))
    paths = (("GET", "/health", None), ("GET", "/schema", None), ("POST", "/mcp", {}))
    return Target("sessions", *_place(url), paths, {"Authorization": f"Bearer {token}"})


async def _worlds(
    stack: contextlib.ExitStack, later: contextlib.AsyncExitStack, folder: Path
) -> list[Target]:
    sites, apps, desktop = Sites(), Apps(), SimulatedDesktopWorld(guarded=True)
    for world in (sites, apps, desktop):
        await world.start()
        later.push_async_callback(world.stop)
    found = [
        Target(name, *_place(url), (("GET", _PAGES.get(name, "/"), None),))
        for name, url in sites.urls.items()
    ]
    control = (("GET", urlsplit(sites.control_url).path, None),)
    found.append(Target("control desk", *_place(sites.control_url), control))
    found += [
        Target("app", *_place(url), (("GET", "/", None),)) for url in list(apps.urls.values())[:1]
    ]
    bearer = {"Authorization": f"Bearer {desktop.token}"}
    command = {"command": ["cmd", "/c", "echo", "1"]}
    vm = (("GET", "/probe", None), ("GET", "/platform", None), ("POST", "/execute", command))
    found.append(Target("simulated VM", *_place(desktop.vm_url), vm, bearer))
    asked = (("GET", "/health", None), ("GET", "/tasks", None))
    found.append(Target("evaluator", *_place(desktop.evaluate_url), asked, bearer, any_host=True))
    fixture = stack.enter_context(FixtureVm(VmState(platform="Windows"), port=0))
    fixture.remember = False
    found.append(Target("fixture VM", *_place(f"http://{fixture.address}"), vm[:2]))
    replay = _REPLAY.ReplayVm([], None, host="127.0.0.1", port=0)  # type: ignore[arg-type]  # it holds no body
    replay.start()
    stack.callback(replay.stop)
    found.append(Target("transcript", *_place(f"http://{replay.address}"), ()))
    return found


if __name__ == "__main__":
    serve()
