"""Copies of a site, so that several trials that change it run at once: containers with ports of their own.

Copy 0 has the ports of the configuration, copy K those plus 100 K. Each is a machine of the provider `docker`,
made of webarena-verified's image and settings; `sites start` keeps them, and each reset makes one anew.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from bench_core.errors import InputError
from bench_core.machines import (
    Leases,
    MachineBusyError,
    MachineError,
    Owner,
    Waits,
    list_machines,
    machine_folder,
    open_provider,
)
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.tasks import task_sites, task_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from bench_core.machines import JournaledProvider, Machine
    from bench_core.records import Task
    from webarena_runner.config import EnvironmentConfig, SiteConfig

__all__ = [
    "choose_copies",
    "copy_config",
    "copy_configs",
    "copy_spec",
    "needs_text",
    "reset_copy",
    "start_copy",
    "stop_copy",
]

_STEP = 100
_LOCAL = ("localhost", "127.0.0.1", "::1")
_INIT = "WA_ENV_CTRL_EXTERNAL_SITE_URL"
_KEPT_S = 30 * 24 * 3600.0
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


def copy_config(config: EnvironmentConfig, copies: Mapping[str, int]) -> EnvironmentConfig:
    """Return the configuration of a trial that uses these copies of sites, by the sites' names."""
    sites = {name: _shifted(site, copies.get(name, 0)) for name, site in config.sites.items()}
    return config.model_copy(update={"sites": sites})


def copy_configs(config: EnvironmentConfig, name: str) -> list[EnvironmentConfig]:
    """Return the configuration for each copy of a site."""
    return [copy_config(config, {name: number}) for number in range(config.site(name).copies or 1)]


def choose_copies(tasks: Sequence[Task], config: EnvironmentConfig) -> dict[str, dict[str, int]]:
    """Return which copies of its sites each task uses: by turns, apart for tasks that change a site.

    A task uses the same ones in every trial and every session of a run.
    """
    if not any(site.copies for site in config.sites.values()):
        return {}
    turns: Counter[tuple[str, bool]] = Counter()
    chosen: dict[str, dict[str, int]] = {}
    for task in tasks:
        for name in task_sites(task):
            site = config.sites.get(name)  # type: ignore[call-overload]  # any name may be asked for
            if site is None or not site.copies:
                continue
            kind = (name, task_type(task) == "MUTATE")
            chosen.setdefault(task.task_id, {})[name] = turns[kind] % site.copies
            turns[kind] += 1
    return chosen


def copy_spec(config: EnvironmentConfig, name: str) -> dict[str, JsonValue]:
    """Return what the container of a site is asked to be, for the provider `docker`.

    The site builds its own links with the address in the environment variable, which its image applies at
    every start.

    Args:
        config: Of one copy.
        name: The site's.

    Raises:
        InputError: The site is not on this computer.
    """
    container = _container(name)
    parts = urlsplit(config.site(name).url)
    host = str(parts.hostname)
    if host not in _LOCAL and not host.endswith(".localhost"):
        raise InputError(
            f"the site {name!r} is at {config.site(name).url}: copies run on this computer"
        )
    port = parts.port or SITE_FACTS[name].port
    control = container.host_env_ctrl_port + port - container.host_port
    inside = str(container.container_port)
    spec: dict[str, JsonValue] = {
        "image": container.docker_img,
        "env": {_INIT: f"http://{parts.hostname}:{port}"},
        "urls": {"site": f"http://127.0.0.1:{{port:{inside}}}{container.health_check_path}"},
        "host_ports": {inside: port, str(container.env_ctrl_port): control},
    }
    if (shm_mb := SITE_FACTS[name].shm_mb) is not None:
        spec["shm_mb"] = shm_mb
    return spec


async def start_copy(
    config: EnvironmentConfig, name: str, timeout_s: float, folder: Path | None = None
) -> Machine:
    """Start a copy of a site, or bring the one that runs back to its start.

    Raises:
        MachineError: It did not start.
    """
    found = await _kept(config, name, folder)
    if found is not None:
        return await reset_copy(config, name, timeout_s, folder)
    place = folder or machine_folder()
    owner = Owner(Leases(place), _owner(_key(config, name)), ttl_s=_KEPT_S, detached=True)
    try:
        return await _opened(owner, place, timeout_s).start(
            _key(config, name), copy_spec(config, name)
        )
    except MachineError:
        with suppress(MachineError):
            await _opened(owner, place, timeout_s).stop_all()
        Leases(place).remove(owner.name)
        raise


async def reset_copy(
    config: EnvironmentConfig, name: str, timeout_s: float, folder: Path | None = None
) -> Machine:
    """Make a copy of a site anew, and return it once it is proven clean; start it where it is gone.

    Raises:
        MachineError: It is not clean.
    """
    place = folder or machine_folder()
    owner = Owner(Leases(place), _owner(_key(config, name)), ttl_s=_KEPT_S, detached=True)
    provider = _opened(owner, place, timeout_s)
    # adopts the one that runs; what was quarantined or is gone is replaced
    machine = await provider.start(_key(config, name), copy_spec(config, name))
    return await provider.reset(machine)


async def stop_copy(config: EnvironmentConfig, name: str, folder: Path | None = None) -> None:
    """Remove a copy of a site; one that is gone already is fine.

    Raises:
        MachineError: It is still there.
    """
    found = await _kept(config, name, folder)
    if found is not None:
        provider, machine = found
        await provider.stop(machine)
        provider.leases.remove(machine.owner)


def needs_text(config: EnvironmentConfig, names: Sequence[str], meminfo: Path = Path("/proc/meminfo")) -> str:  # fmt: skip
    """Return the disk and memory that the sites' containers need, beside what there is.

    Sizes of images are those of their registry; memory is known of gitlab alone.
    """
    lines = []
    for name in names:
        copies, facts = config.site(name).copies or 1, SITE_FACTS[name]
        memory = "" if facts.memory_gb is None else f", {facts.memory_gb * copies} GB of memory"
        lines.append(f"{name}: {copies} x, image {facts.image_gb} GB once{memory}")
    try:
        found = _AVAILABLE.search(meminfo.read_text(encoding="ascii"))
    except OSError:
        found = None
    free = "" if found is None else f"; {int(found[1]) // 1_000_000} GB of memory are free"
    return "\n".join(lines) + free


def _shifted(site: SiteConfig, copy: int) -> SiteConfig:
    if not copy:
        return site
    return site.model_copy(update={"urls": tuple(_other_port(url, copy) for url in site.urls)})


def _other_port(url: str, copy: int) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    port = (parts.port or 80) + _STEP * copy
    return urlunsplit(parts._replace(netloc=f"{host}:{port}"))


def _container(name: str) -> Any:
    site = evaluator_module("types.task").WebArenaSite(name)
    return evaluator_module("environments.container.config").get_container_config(site=site)


def _key(config: EnvironmentConfig, name: str) -> str:
    return f"webarena/{name}@{urlsplit(config.site(name).url).port}"


def _owner(key: str) -> str:
    return f"kept {key}"


def _opened(owner: Owner, folder: Path, timeout_s: float) -> JournaledProvider:
    return open_provider("docker", owner, folder, waits=Waits(ready_s=timeout_s))


async def _kept(
    config: EnvironmentConfig, name: str, folder: Path | None
) -> tuple[JournaledProvider, Machine] | None:
    place = folder or machine_folder()
    key = _key(config, name)
    for machine in await list_machines(place, provider="docker"):
        if machine.key == key and machine.state != "ending":
            if machine.owner != _owner(key):
                raise MachineBusyError(key, machine.owner)
            owner = Owner(Leases(place), machine.owner, detached=True)
            return _opened(owner, place, Waits().ready_s), machine
    return None
