"""The entry point of the installed block: `/evaluate` inside WAA's own server.

Here, too, evaluators run in a separate process, so that neither their output nor their crashes
reach the server that controls the desktop. They start in the background: WAA's server is up at once.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from pathlib import Path
from typing import Any

from flask import Flask

from bench_core.errors import BenchError, EnvironmentFaultError
from bench_core.serving import ServerToken
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.server.app import make_blueprint
from waa_server_ext.server.service import Service, ServiceSettings
from waa_server_ext.vm.access import TOKEN_VARIABLE, Access
from waa_server_ext.vm.client import VM_PORT

_START_S = 120.0  # importing vanilla's evaluators takes seconds, on a busy VM a minute


class _NotReadyError(EnvironmentFaultError):
    """The evaluators have not started yet, or never will."""


def mount(
    app: Flask,
    *,
    vm: str = "127.0.0.1",
    cache: str = "waa-server-ext",
    checkout: str | None = None,
    fidelity: str | None = None,
    assets: str | None = None,
    tasks: str | None = None,
    reloader: bool = False,
) -> None:
    """Add the routes to WAA's application.

    Clients send the token in WAA_SERVER_TOKEN, or a new one from a file that WAA's server names. With
    `reloader`, nothing is done in the process that only watches files.
    """
    # with debug=True the module is imported twice: by the process that watches files, and by the server
    if reloader and os.environ.get("WERKZEUG_RUN_MAIN") != "true":
        return
    folder = Path(cache).expanduser().resolve()
    settings = EvaluatorSettings.model_validate(
        {
            "cache": folder,
            "checkout": Path(checkout).resolve() if checkout else None,
            "fidelity": fidelity,
            "assets": Path(assets).resolve() if assets else folder / "assets",
        }
    )
    service = ServiceSettings(vm=vm, cache=folder, tasks=Path(tasks) if tasks else None)
    starting = _StartingService(settings, service)
    token = ServerToken.choose(TOKEN_VARIABLE)
    handed = contextlib.ExitStack()
    said = handed.enter_context(token.handed(f"http://127.0.0.1:{VM_PORT}"))
    atexit.register(handed.close)
    print(f"waa-server-ext: {said}", flush=True)  # noqa: T201  # in the window of WAA's server
    access = Access(token.value)
    routes = make_blueprint(starting, access, inside_vm_server=True)  # type: ignore[arg-type]  # stands for a Service
    app.register_blueprint(routes)


class _StartingService:
    """Becomes a `Service` when its evaluators have started."""

    def __init__(self, settings: EvaluatorSettings, service: ServiceSettings) -> None:
        self._service: Service | None = None
        self._error: str | None = None
        self._ready = threading.Event()
        threading.Thread(target=self._start, args=(settings, service), daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        if not self._ready.wait(_START_S):
            raise _NotReadyError("the evaluators are still starting; ask again")
        if self._service is None:
            raise _NotReadyError(f"the evaluators did not start: {self._error}")
        return getattr(self._service, name)

    def _start(self, settings: EvaluatorSettings, service: ServiceSettings) -> None:
        try:
            self._service = Service(IsolatedEvaluator(settings), service)
        except (BenchError, OSError, ValueError) as error:
            self._error = str(error)
        finally:
            self._ready.set()
