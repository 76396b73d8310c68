"""Start, stop and reset of sites: by Docker on this machine, or by a hook of the user's.

A reset recreates the container. The images' own `POST /init` only applies the base URL again and clears
caches; it leaves the changes of earlier tasks.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import Record
from bench_core.serving import address_of, is_loopback
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_checks import site_faults
from webarena_runner.site_copies import (
    data_folder,
    image_volumes,
    reset_copy,
    start_copy,
    stop_copy,
)
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.web import WebClient

DEFAULT_TIMEOUT_S = 600.0
"""GitLab's image takes minutes to start."""

ResetMethod = Literal["docker", "hook"]
_POLL_S = 1.0
_PROBE_S = 20.0
_REFUSED = 400


class SiteStatus(Record):
    """The state of one site.

    Attributes:
        container: The state of its container; None if Docker does not run it.
        fault: Why it cannot be used; None when it answers.
        reset_by: How it can be reset; None if it cannot.
    """

    site: str
    url: str
    container: str | None = None
    fault: str | None = None
    reset_by: ResetMethod | None = None


def reset_method_of(config: EnvironmentConfig, name: str) -> ResetMethod | None:
    """Return how a site can be reset: by the configured hook, else by this machine's Docker."""
    site = config.site(name)
    if site.reset_hook:
        return "hook"
    if site.copies:
        return "docker"
    is_local = is_loopback(address_of(site.url).host)
    return "docker" if is_local and shutil.which("docker") else None


def site_status(config: EnvironmentConfig, name: str, timeout_s: float = _PROBE_S) -> SiteStatus:
    """Return the state of a site, and of its container where Docker runs it."""
    method = reset_method_of(config, name)
    container = None
    if method == "docker" and not config.site(name).copies:
        manager = _manager(config, name)
        exists = manager.backend.container_exists(name=manager.container_name)
        running = exists and manager.backend.container_running(name=manager.container_name)
        container = "running" if running else "stopped" if exists else "absent"
    return SiteStatus(
        site=name,
        url=config.site(name).url,
        container=container,
        fault="; ".join(map(str, site_faults(config, name, timeout_s))) or None,
        reset_by=method,
    )


def start_site(config: EnvironmentConfig, name: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> float:
    """Recreate a site's container and wait until it can be used; return the seconds it took.

    Raises:
        InputError: Docker does not run the site.
        EnvironmentFaultError: It cannot be used within `timeout_s`.
    """
    if config.site(name).copies:
        return _timed(partial(_copied, start_copy, config, name), config, name, timeout_s)
    _require_docker(config, name)
    return _timed(lambda deadline: _recreate(config, name, deadline), config, name, timeout_s)


def stop_site(config: EnvironmentConfig, name: str) -> None:
    """Remove a site's container with all changes.

    Raises:
        InputError: Docker does not run the site.
        EnvironmentFaultError: Docker refuses.
    """
    if config.site(name).copies:
        asyncio.run(stop_copy(config, name))
        return
    _require_docker(config, name)
    try:
        _remove(_manager(config, name))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise EnvironmentFaultError(f"cannot stop the site {name!r}: {error}") from error


def reset_site(config: EnvironmentConfig, name: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> float:
    """Reset a site to its initial state, wait until it can be used, return the seconds it took.

    Raises:
        InputError: The site cannot be reset.
        EnvironmentFaultError: The hook fails, or the site cannot be used within `timeout_s`.
    """
    method = reset_method_of(config, name)
    if method is None:
        raise InputError(
            f"the site {name!r} at {config.site(name).url} cannot be reset: Docker does not run it on "
            "this machine; give the configuration a `reset_hook` for it, a command or a URL"
        )
    if config.site(name).copies:
        return _timed(partial(_copied, reset_copy, config, name), config, name, timeout_s)
    work = _call_hook if method == "hook" else _recreate
    return _timed(lambda deadline: work(config, name, deadline), config, name, timeout_s)


def _timed(
    work: Callable[[float], None], config: EnvironmentConfig, name: str, timeout_s: float
) -> float:
    """Do `work`, wait until the site can be used, and return the seconds that took."""
    began = time.monotonic()
    deadline = began + timeout_s
    work(deadline)
    while True:
        left = deadline - time.monotonic()
        within = min(_PROBE_S, max(1.0, left))
        found = site_faults(config, name, within)
        fault = next((each.detail for each in found if each.is_down), None)
        if fault is None:
            return time.monotonic() - began
        if left <= _POLL_S:
            raise EnvironmentFaultError(f"the site {name!r} did not come up in time: {fault}")
        time.sleep(_POLL_S)


def _copied(
    work: Callable[[EnvironmentConfig, str, float], Coroutine[Any, Any, object]],
    config: EnvironmentConfig,
    name: str,
    deadline: float,
) -> None:
    asyncio.run(work(config, name, max(1.0, deadline - time.monotonic())))


def _call_hook(config: EnvironmentConfig, name: str, deadline: float) -> None:
    hook = str(config.site(name).reset_hook)
    left = max(1.0, deadline - time.monotonic())
    if urlsplit(hook).scheme in {"http", "https"}:
        page = WebClient(left).post(hook, [("site", name)])
        if page.status >= _REFUSED:
            raise EnvironmentFaultError(
                f"the reset hook of the site {name!r} answers with status {page.status}: "
                f"{page.text[:200]}"
            )
        return
    words = [word.replace("{site}", name) for word in shlex.split(hook)]
    try:
        ran = subprocess.run(  # noqa: S603  # the user's own command
            words, capture_output=True, text=True, timeout=left, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFaultError(
            f"the reset hook of the site {name!r} fails: {error}"
        ) from error
    if ran.returncode:
        output = (ran.stderr or ran.stdout).strip()[-200:]
        raise EnvironmentFaultError(
            f"the reset hook of the site {name!r} ends with code {ran.returncode}: {output}"
        )


def _recreate(config: EnvironmentConfig, name: str, deadline: float) -> None:
    """Recreate a container with webarena-verified's manager and wait for the services inside."""
    manager, folder = _manager(config, name), data_folder(config, name)
    left = max(1.0, deadline - time.monotonic())
    try:
        _remove(manager)
        manager.start(
            port=urlsplit(config.site(name).url).port or SITE_FACTS[name].port,
            env_ctrl_port=manager.config.host_env_ctrl_port,
            wait=False,  # it would ask Python's resolver for `*.localhost`
            data_dir=folder,
        )
        client = evaluator_module("environments.env_ctrl_client").EnvCtrlDockerClient
        ready = client.create(manager.container_name, timeout=int(left)).wait_until_ready(left)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise EnvironmentFaultError(f"cannot start the site {name!r}: {error}") from error
    if not ready.success:
        raise EnvironmentFaultError(f"the site {name!r} does not come up: {ready.message}")


def _remove(manager: Any) -> None:
    """Remove a container, with all volumes that a visitor of the site changes.

    The manager's own removal leaves volumes, and with them an agent's changes to the map's web site.
    """
    name = manager.container_name
    if manager.backend.container_exists(name=name):
        words = ["docker", "rm", "-f", "-v", name]
        subprocess.run(words, capture_output=True, check=True)  # noqa: S603  # no shell
    for volume in image_volumes(manager.config):
        evaluator_module("environments.setup.docker_ops").remove_volume(volume)


def _require_docker(config: EnvironmentConfig, name: str) -> None:
    site = config.site(name)
    if shutil.which("docker") is None:
        raise InputError("there is no `docker` on PATH; sites elsewhere are started there")
    if not is_loopback(address_of(site.url).host):
        raise InputError(f"the site {name!r} is at {site.url}, not on this machine: start it there")


def _manager(config: EnvironmentConfig, name: str) -> Any:
    """Return webarena-verified's container manager; the site builds its own links with this host name."""
    container = evaluator_module("environments.container.manager").ContainerManager
    site = evaluator_module("types.task").WebArenaSite(name)
    return container(site=site, hostname=str(urlsplit(config.site(name).url).hostname))
