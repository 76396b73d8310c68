"""Starting a server from settings, and ending it cleanly."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.serving import ServerToken
from waa_server_ext.evaluation.evaluators import (
    UNKNOWN_BROWSER,
    Evaluator,
    EvaluatorSettings,
)
from waa_server_ext.server.service import Service
from waa_server_ext.vm.local_server import LocalServer

_MB = 1024 * 1024
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def evaluator_settings(options: Mapping[str, Any]) -> EvaluatorSettings:
    """Return the settings that the options of `evaluator_options` describe."""
    from waa_server_ext.vm.client import VM_PORT, vm_address  # httpx

    checkout, cdp = options["checkout"], options["cdp"]
    assets = options["assets"] or options["cache"] / "assets"
    if checkout is not None and options["fidelity"] == "fixed":
        raise InputError("--fidelity fixed needs native evaluators: leave --waa-checkout out")
    for name in ("vm", "cdp"):
        try:
            _, port = vm_address(options.get(name) or "vm")
        except ValueError as error:
            raise InputError(f"--{name}: {error}") from error
        if name == "cdp" and options[name] and not cdp.rstrip("/").endswith(f":{port}"):
            raise InputError(
                f"--cdp {cdp}: name the port on which the browser debugs, as in {cdp}:9222"
            )
        if name == "vm" and port != VM_PORT and cdp is None:
            cdp = UNKNOWN_BROWSER  # several VMs may be published on that host
    if options["cdp"] and checkout is not None:
        raise InputError(
            "--cdp needs native evaluators: vanilla's know port 9222 of the VM's host alone"
        )
    return EvaluatorSettings(
        cache=options["cache"].expanduser().resolve(),
        checkout=checkout.expanduser().resolve() if checkout else None,
        fidelity=options["fidelity"],
        assets=assets.expanduser().resolve(),
        cdp=cdp,
        offline=options["offline"],
        allow_hosts=tuple(options["allow_hosts"]),
        max_download=options["max_download"] * _MB,
    )


def serve_forever(
    settings: EvaluatorSettings,
    *,
    vm: str,
    host: str,
    port: int,
    tasks: Path | None,
    timeout_s: float,
    token: ServerToken,
    say: Callable[[str], None],
) -> None:
    """Serve until a signal ends it.

    Raises:
        InputError: An argument cannot be used.
    """
    from waa_server_ext.evaluation.asset_fetch import (
        hosts_of,
        needed_urls,
    )
    from waa_server_ext.evaluation.isolation import IsolatedEvaluator
    from waa_server_ext.evaluation.tasks import TaskFolder
    from waa_server_ext.server.service import Service, ServiceSettings
    from waa_server_ext.vanilla.checkout import only_host

    if settings.checkout is not None:
        only_host(vm)
    tasks = tasks or _own_tasks(settings)
    if tasks is not None:
        known = TaskFolder(tasks)
        known.require_tasks()
        more = hosts_of(needed_urls(known))
        settings = settings.model_copy(update={"allow_hosts": (*settings.allow_hosts, *more)})
    service_settings = ServiceSettings(
        vm=vm, cache=settings.cache, tasks=tasks, timeout_s=timeout_s
    )
    with (
        IsolatedEvaluator(settings) as evaluator,
        Service(evaluator, service_settings) as service,
    ):
        with (
            ended_by_signals() as stop,
            running_server(service, host=host, port=port, token=token.value) as server,
            token.handed(server.url) as asked,
        ):
            say(_greeting(evaluator, vm, server.url))
            say(asked)
            _wait(stop)
        say("stopped")


@contextlib.contextmanager
def running_server(
    service: Service, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None
) -> Iterator[LocalServer]:
    """Serve `service` in a thread; see `port` of the yielded server.

    Raises:
        InputError: The address cannot be listened on.
    """
    from waa_server_ext.server.app import create_app  # Flask
    from waa_server_ext.vm.local_server import LocalServer

    server = LocalServer("the server", host, port, checks_itself=True)
    server.start(create_app(service, token=token))
    try:
        yield server
    finally:
        server.stop()


def _own_tasks(settings: EvaluatorSettings) -> Path | None:
    if settings.checkout is None:
        return None
    from waa_server_ext.vanilla.checkout import find_checkout, task_folder

    return task_folder(find_checkout(settings.checkout))


def _greeting(evaluator: Evaluator, vm: str, url: str) -> str:
    described = evaluator.describe()
    whose = described.tree or "waa-server-ext"
    return (
        f"POST {url}/evaluate scores on the VM {vm} with the {described.kind} evaluators of {whose} "
        f"({described.fidelity}); Ctrl-C stops"
    )


@contextlib.contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and Ctrl-C set."""
    stop = threading.Event()
    before = {each: signal.signal(each, lambda *_: stop.set()) for each in _SIGNALS}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _wait(stop: threading.Event) -> None:
    while not stop.wait(0.5):  # on Windows, a wait without a timeout would not notice Ctrl-C
        pass
