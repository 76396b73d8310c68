"""The checks of `waa-server-ext doctor`: the prerequisites of scoring, and the traps of WAA's network."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.errors import BenchError, EvaluationError, pip_install
from bench_core.serving import token_for
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.native.cdp import DEBUGGING_PORT, browser_address
from waa_server_ext.vm.access import TOKEN_VARIABLE
from waa_server_ext.vm.client import VM_PORT, VmHttp, VmTransportError, vm_address
from waa_server_ext.vm.probe import world_of

_BROWSER = f"4 tasks are evaluated in the VM's browser, and 9 set up: publish its port {DEBUGGING_PORT}, too"
_WAIT_S = 5.0
# stock images, images on newer dockurr/windows, and the VM itself
_KNOWN_VMS = ("20.20.20.21", "172.30.0.2", "127.0.0.1")
"""The VM's address in WAA's container: stock images; images on newer dockurr/windows; a forward."""


def checks(
    settings: EvaluatorSettings,
    *,
    vm: str | None = None,
    url: str | None = None,
    server: Path | None = None,
    tasks: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Check]:
    """Yield the checks that apply to the given arguments."""
    yield Check("cache", lambda: _cache(settings.cache))
    if settings.checkout is not None:
        yield Check("evaluators", lambda: _evaluators(settings))
    if vm is not None:
        yield Check("VM address", lambda: _address(settings, vm))
        yield Check("VM server", lambda: _vm_server(vm))
        yield Check("VM browser", lambda: _browser(vm, settings.cdp))
        yield Check("proxy", lambda: _proxy(vm, environ))
    if url is not None:
        yield Check("this server", lambda: _own_server(url, environ))
    if server is not None:
        yield Check("WAA's main.py", lambda: _main(server))
    if tasks is not None:
        yield Check("reference files", lambda: _assets(settings, tasks))


def _cache(folder: Path) -> CheckResult:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            return ok(str(folder))
    except OSError as error:
        return failed(f"{folder}: {error.strerror}", "give a writable folder with --cache")


def _evaluators(settings: EvaluatorSettings) -> CheckResult:
    from waa_server_ext.evaluation.isolation import IsolatedEvaluator  # starts a process

    try:
        with IsolatedEvaluator(settings) as evaluator:
            found = evaluator.describe()
    except BenchError as error:
        return failed(
            str(error), f"see the message; `{pip_install('waa-server-ext[vanilla]')}` helps"
        )
    which = f"{found.tree or 'native'} {found.commit or ''}".strip()
    stubbed = f"; left out: {', '.join(found.stubbed)}" if found.stubbed else ""
    return ok(
        f"{which} ({found.fidelity}): {len(found.getters)} getters, {len(found.metrics)} metrics"
        f"{stubbed}"
    )


def _address(settings: EvaluatorSettings, vm: str) -> CheckResult:
    from waa_server_ext.vanilla.checkout import only_host

    try:
        vm_address(vm)
    except ValueError as error:
        return failed(str(error), "give --vm HOST or --vm HOST:PORT")
    try:
        return ok(only_host(vm) if settings.checkout is not None else vm)
    except BenchError as error:
        problem, _, fix = str(error).partition(": ")
        return failed(problem, fix)


def _vm_server(vm: str) -> CheckResult:
    host, port = vm_address(vm)
    with VmHttp(vm, timeout_s=_WAIT_S, max_bytes=1_000_000) as http:
        try:
            probe = http.get("/probe")
            platform = http.get("/platform").text
        except VmTransportError as error:
            return failed(f"{host}:{port}: {error.reason}", _network_advice(host, error.reason))
    if probe.status != 200:  # HTTP
        return failed(f"GET /probe: {probe.status}", f"is it WAA's server that is on {vm}?")
    if platform != "Windows":
        return warned(f"answers, on {platform[:40]!r}", "tasks are made for Windows")
    if world_of(probe) == "built-in":
        return ok("answers, a simulation of Windows")
    return ok("answers, on Windows")


def _network_advice(host: str, reason: str) -> str:
    """Return advice that fits the way the connection failed."""
    others = ", ".join(each for each in _KNOWN_VMS if each != host)
    if "no answer within" in reason or "Timeout" in reason:
        return (
            f"nothing answers at {host}: inside WAA's container the VM is {others}; from the host "
            f"port {VM_PORT} is not published: run the sidecar in the container (docker exec), or "
            f"start it with -p {VM_PORT}:{VM_PORT}"
        )
    if "refused" in reason.lower():
        return (
            f"{host} is there and nothing listens on {VM_PORT}: the VM boots (minutes at first), or "
            f"WAA's server ended; look at http://HOST:8006"
        )
    if "disconnected" in reason.lower() or "reset" in reason.lower():
        return (
            f"a forward accepts connections and the VM behind it does not: it still boots, or the "
            f"forward's target is old; in the container it is {others}"
        )
    return f"check the address; inside WAA's container it is {others}"


def _browser(vm: str, cdp: str | None) -> CheckResult:
    try:
        host, port = browser_address(vm, cdp)
        socket.create_connection((host.strip("[]"), port), timeout=_WAIT_S).close()
    except EvaluationError as error:
        return warned(str(error), _BROWSER)
    except OSError as error:
        return warned(f"{host}:{port}: {error}", _BROWSER)
    return ok(f"{host}:{port}")


def _proxy(vm: str, environ: Mapping[str, str]) -> CheckResult:
    host, _ = vm_address(vm)
    names = [n for n in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") if environ.get(n)]
    exempt = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if names and host not in exempt.split(","):
        return warned(
            f"{names[0]} is set; evaluators here ignore it for the VM, vanilla's run.py does not",
            f"for run.py: export NO_PROXY={','.join(filter(None, (exempt, host)))}",
        )
    return ok("none in the way")


def _own_server(url: str, environ: Mapping[str, str]) -> CheckResult:
    import httpx

    token = token_for(url, TOKEN_VARIABLE, environ)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = httpx.get(
            f"{url.rstrip('/')}/health", headers=headers, timeout=_WAIT_S, trust_env=False
        )
    except httpx.TimeoutException:
        return failed(
            f"{url}: no answer",
            "WAA's container sends every TCP port but 8006 on to the VM: start it with "
            "-e HOST_PORTS=5050 -p 5050:5050, or in it: iptables -t nat -I PREROUTING 1 -p tcp "
            "--dport 5050 -j ACCEPT",
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return failed(
            f"{url}: {error}", "is `waa-server-ext serve` running there, with --host 0.0.0.0?"
        )
    if answer.status_code == 401:  # HTTP
        return failed("401", f"set {TOKEN_VARIABLE} to the server's token")
    if answer.status_code == 500 and "404 Not Found" in answer.text:  # HTTP
        return failed(
            "WAA's own server answers, without /evaluate",
            "mount it with `waa-server-ext install`, or give the sidecar's port",
        )
    if answer.status_code != 200:  # HTTP
        return failed(f"{url}: {answer.status_code}", "is it a waa-server-ext?")
    return ok(f"{answer.json().get('status')}: {url}")


def _main(server: Path) -> CheckResult:
    from waa_server_ext.server.installation import is_installed

    try:
        if is_installed(server):
            return ok("/evaluate is mounted")
    except BenchError as error:
        return failed(str(error), "give the main.py of WAA's server")
    return warned("/evaluate is not mounted", f"waa-server-ext install --server {server}")


def _assets(settings: EvaluatorSettings, tasks: Path) -> CheckResult:
    from waa_server_ext.evaluation.asset_fetch import needed_urls
    from waa_server_ext.evaluation.assets import AssetStore
    from waa_server_ext.evaluation.tasks import TaskFolder

    needed = needed_urls(TaskFolder(tasks))
    folder = settings.assets or settings.cache / "assets"
    held = AssetStore(folder).index().assets
    missing = [url for url in needed if url not in held]
    if missing:
        return warned(
            f"{len(missing)} of {len(needed)} will be fetched when needed",
            f"fetch them now: waa-server-ext assets fetch --tasks-dir {tasks} --assets {folder}",
        )
    return ok(f"all {len(needed)} are there")
