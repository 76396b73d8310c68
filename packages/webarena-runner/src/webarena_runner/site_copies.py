"""Copies of a site, containers with their own ports, so several trials that change it run at once.

Copy 0 has the ports of the configuration, copy K those plus 100 K. Each is a machine of the provider `docker`,
made of webarena-verified's image and settings; `sites start` keeps them, and each reset makes one anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.machines import (
    JournaledProvider,
    Leases,
    Machine,
    MachineBusyError,
    MachineError,
    Owner,
    Waits,
    list_machines,
    machine_folder,
    open_provider,
)
from bench_core.records import Task
from bench_core.serving import address_of, is_loopback
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.tasks import task_sites, task_type

_STEP = 100
_INIT = "WA_ENV_CTRL_EXTERNAL_SITE_URL"
_KEPT_S = 30 * 24 * 3600.0


def copy_config(config: EnvironmentConfig, copies: Mapping[str, int]) -> EnvironmentConfig:
    """Return the configuration of a trial that uses these copies of sites, by the sites' names."""
    sites = dict(config.sites)
    for name, site in config.sites.items():
        if copy := copies.get(name, 0):
            urls = tuple(_other_port(url, copy) for url in site.urls)
            sites[name] = site.model_copy(update={"urls": urls})
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
    """Return the specification of a site's container, for the provider `docker`.

    The site builds its own links with the address in the environment variable, which its image applies at
    every start.

    Args:
        config: Of one copy.
        name: The site's.

    Raises:
        InputError: The site is not on this computer.
    """
    container = site_container(name)
    parts = urlsplit(config.site(name).url)
    if not is_loopback(address_of(config.site(name).url).host):
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
    own = image_volumes(container)
    shared: list[JsonValue] = [
        f"{each}:{at}" for each, at in container.volumes.items() if each not in own
    ]
    if (folder := data_folder(config, name)) is not None:
        shared.append(f"{folder}:{container.data_dir_mount}")
    if shared:
        spec["binds"] = shared
    if own:
        spec["volumes"] = {
            each.removeprefix("webarena_verified_").replace("_", "-"): {"path": path}
            for each, path in own.items()
        }
    return spec


def data_folder(config: EnvironmentConfig, name: str) -> Path | None:
    """Return the folder of this computer that a site reads its data from; None if it needs none.

    Raises:
        InputError: It needs one, and none is configured.
    """
    if site_container(name).data_dir_mount is None:
        return None
    folder = config.site(name).data_dir
    if folder is None:
        raise InputError(
            f"the site {name!r} needs its data: set `data_dir` in the configuration to the folder "
            f"that `webarena-verified env setup init --site {name}` has filled"
        )
    return folder.resolve()


async def start_copy(
    config: EnvironmentConfig, name: str, timeout_s: float, folder: Path | None = None
) -> Machine:
    """Start a copy of a site, or reset the running one to its initial state.

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
    """Make a copy of a site anew, and return it once it is proven clean; start it if it is gone.

    Raises:
        MachineError: It is not clean.
    """
    place = folder or machine_folder()
    owner = Owner(Leases(place), _owner(_key(config, name)), ttl_s=_KEPT_S, detached=True)
    provider = _opened(owner, place, timeout_s)
    # adopts the one that runs; one that was quarantined or is gone is replaced
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


def site_container(name: str) -> Any:
    """Return webarena-verified's description of a site's container."""
    site = evaluator_module("types.task").WebArenaSite(name)
    return evaluator_module("environments.container.config").get_container_config(site=site)


def image_volumes(container: Any) -> dict[str, str]:
    """Return the named volumes that begin with the image's content, and their paths in the container.

    The map's web site has its database in one. The others are filled by `webarena-verified env setup init`
    with 60 GB that no visitor changes.
    """
    volumes = container.setup.volumes if container.setup else ()
    return {each.volume_name: each.mount_path for each in volumes if each.source_tar is None}


def _other_port(url: str, copy: int) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    port = (parts.port or 80) + _STEP * copy
    return urlunsplit(parts._replace(netloc=f"{host}:{port}"))


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
