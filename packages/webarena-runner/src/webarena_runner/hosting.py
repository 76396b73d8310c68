"""Starting, stopping and resetting sites: by Docker on this machine, or by a hook of the user's.

A reset makes the container anew. The images' own `POST /init` applies the base URL again and
clears caches; it does not touch what tasks have changed.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import Record
from webarena_runner.auth import log_in
from webarena_runner.official import official
from webarena_runner.sites import SITE_FACTS, site_fault
from webarena_runner.web import WebClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webarena_runner.config import EnvironmentConfig

__all__ = ["DEFAULT_TIMEOUT_S", "SiteStatus", "keeper_of", "reset_site", "site_status",
           "start_site", "stop_site"]  # fmt: skip

DEFAULT_TIMEOUT_S = 600.0
"""GitLab's image takes minutes to come up."""

Keeper = Literal["docker", "hook"]
_POLL_S = 1.0
_PROBE_S = 20.0
_LOCAL = ("localhost", "127.0.0.1", "::1")
_REFUSED = 400


class SiteStatus(Record):
    """How one site stands.

    Attributes:
        container: Docker's word for its container; null where Docker does not keep it.
        fault: Why it cannot be used; null when it answers.
        reset_by: Who can reset it.
    """

    site: str
    url: str
    container: str | None = None
    fault: str | None = None
    reset_by: Keeper | None = None


def keeper_of(config: EnvironmentConfig, name: str) -> Keeper | None:
    """Return who can reset a site: the hook of the configuration before this machine's Docker."""
    site = config.site(name)
    if site.reset_hook:
        return "hook"
    host = str(urlsplit(site.url).hostname)
    is_local = host in _LOCAL or host.endswith(".localhost")
    return "docker" if is_local and shutil.which("docker") else None


def site_status(config: EnvironmentConfig, name: str, timeout_s: float = _PROBE_S) -> SiteStatus:
    """Ask Docker, where it keeps the site, and the site itself."""
    keeper = keeper_of(config, name)
    container = None
    if keeper == "docker":
        manager = _manager(config, name)
        exists = manager.backend.container_exists(name=manager.container_name)
        running = exists and manager.backend.container_running(name=manager.container_name)
        container = "running" if running else "stopped" if exists else "absent"
    return SiteStatus(
        site=name,
        url=config.site(name).url,
        container=container,
        fault=site_fault(config, name, timeout_s),
        reset_by=keeper,
    )


def start_site(config: EnvironmentConfig, name: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> float:
    """Start a site's container anew and wait until it can be used; return the seconds it took.

    Raises:
        InputError: Docker does not keep the site.
        EnvironmentFaultError: It does not come up within `timeout_s`.
    """
    _require_docker(config, name)
    return _timed(lambda deadline: _recreate(config, name, deadline), config, name, timeout_s)


def stop_site(config: EnvironmentConfig, name: str) -> None:
    """Remove a site's container and all that was changed in it.

    Raises:
        InputError: Docker does not keep the site.
        EnvironmentFaultError: Docker refuses.
    """
    _require_docker(config, name)
    try:
        _manager(config, name).stop()
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFaultError(f"cannot stop the site {name!r}: {error}") from error


def reset_site(config: EnvironmentConfig, name: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> float:
    """Put a site back to its first state, wait until it can be used, return the seconds it took.

    Raises:
        InputError: Nobody can reset it.
        EnvironmentFaultError: The hook fails, or the site does not come up within `timeout_s`.
    """
    keeper = keeper_of(config, name)
    if keeper is None:
        raise InputError(
            f"nobody can reset the site {name!r} at {config.site(name).url}: Docker does not keep "
            "it on this machine; give the configuration a `reset_hook` for it, a command or a URL"
        )
    work = _call_hook if keeper == "hook" else _recreate
    return _timed(lambda deadline: work(config, name, deadline), config, name, timeout_s)


async def wait_usable(config: EnvironmentConfig, names: Iterable[str], timeout_s: float) -> None:
    """Wait until the sites answer and let their users in; raises as `reset_site` does."""
    deadline = time.monotonic() + timeout_s
    await asyncio.gather(*(asyncio.to_thread(_wait, config, name, deadline) for name in names))


def _timed(
    work: Callable[[float], None], config: EnvironmentConfig, name: str, timeout_s: float
) -> float:
    began = time.monotonic()
    work(began + timeout_s)
    _wait(config, name, began + timeout_s)
    return time.monotonic() - began


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
    _run_hook(hook, name, left)


def _run_hook(hook: str, name: str, timeout_s: float) -> None:
    words = [word.replace("{site}", name) for word in shlex.split(hook)]
    try:
        ran = subprocess.run(  # noqa: S603  # the user's own command
            words, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFaultError(
            f"the reset hook of the site {name!r} fails: {error}"
        ) from error
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip()[-200:]
        raise EnvironmentFaultError(
            f"the reset hook of the site {name!r} ends with code {ran.returncode}: {said}"
        )


def _recreate(config: EnvironmentConfig, name: str, deadline: float) -> None:
    """Let webarena-verified's manager make the container, then wait for the services inside."""
    site, manager = config.site(name), _manager(config, name)
    left = max(1.0, deadline - time.monotonic())
    try:
        manager.start(
            port=_port(site.url, name),
            env_ctrl_port=manager.config.host_env_ctrl_port,
            wait=False,  # it would ask Python's resolver for `*.localhost`
            data_dir=site.data_dir,
        )
        client = official("environments.env_ctrl_client").EnvCtrlDockerClient
        ready = client.create(manager.container_name, timeout=int(left)).wait_until_ready(left)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise EnvironmentFaultError(f"cannot start the site {name!r}: {error}") from error
    except ValueError as error:
        raise InputError(
            f"the site {name!r} needs its data: set `data_dir` in the configuration to the folder "
            f"that `webarena-verified env setup init --site {name}` has filled"
        ) from error
    if not ready.success:
        raise EnvironmentFaultError(f"the site {name!r} does not come up: {ready.message}")


def _wait(config: EnvironmentConfig, name: str, deadline: float) -> None:
    while True:
        left = deadline - time.monotonic()
        fault = _unusable(config, name, min(_PROBE_S, max(1.0, left)))
        if fault is None:
            return
        if left <= _POLL_S:
            raise EnvironmentFaultError(f"the site {name!r} did not come up in time: {fault}")
        time.sleep(_POLL_S)


def _unusable(config: EnvironmentConfig, name: str, timeout_s: float) -> str | None:
    """Return why a site cannot be used: it does not answer, or lets its user not in."""
    if fault := site_fault(config, name, timeout_s):
        return fault
    if SITE_FACTS[name].login_path is None:
        return None
    try:
        log_in(config.site(name), name, timeout_s)
    except EnvironmentFaultError as error:
        return str(error)
    return None


def _require_docker(config: EnvironmentConfig, name: str) -> None:
    site = config.site(name)
    if shutil.which("docker") is None:
        raise InputError("there is no `docker` on PATH; sites elsewhere are started there")
    host = str(urlsplit(site.url).hostname)
    if host not in _LOCAL and not host.endswith(".localhost"):
        raise InputError(f"the site {name!r} is at {site.url}, not on this machine: start it there")


def _manager(config: EnvironmentConfig, name: str) -> Any:
    """Return webarena-verified's manager; the site tells its own links by this host name."""
    container = official("environments.container.manager").ContainerManager
    site = official("types.task").WebArenaSite(name)
    return container(site=site, hostname=str(urlsplit(config.site(name).url).hostname))


def _port(url: str, name: str) -> int:
    return urlsplit(url).port or SITE_FACTS[name].port
