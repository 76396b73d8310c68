"""The environments of runs: sites that the user hosts, or the built-in stand-in sites."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench_core.records import IntegrityCode
from webarena_runner.config import EnvironmentConfig, default_config, load_config
from webarena_runner.reset import Resets, parse_policies
from webarena_runner.unserved import Served
from webarena_runner.world.builtin import BuiltInWorld

__all__ = [
    "Environment",
    "built_in_world",
    "environment_of",
    "real_environment",
    "with_resets",
]


@dataclass(frozen=True)
class Environment:
    """The sites of a run.

    Attributes:
        config: Their URLs and accounts.
        reset: Resets sites before a mutating trial, which has exclusive use of them; None for no
            resets.
        shared: Whether other processes can reach the sites, so that trials must lock them.
        ports: Ports of this machine that no agent may open, with the integrity code of opening each.
        served: Returns the answers since a moment, of sites that log them.
    """

    config: EnvironmentConfig
    reset: Callable[[Sequence[str], EnvironmentConfig], Awaitable[None]] | None = None
    shared: bool = True
    ports: Mapping[int, IntegrityCode] = field(default_factory=dict)
    served: Callable[[float], Collection[Served]] | None = None


@contextmanager
def built_in_world() -> Iterator[BuiltInWorld]:
    """Start the stand-in sites, in threads of their own, and stop them at the end of the block."""
    from webarena_runner.world.builtin import BuiltInWorld  # only built-in runs need it

    world = BuiltInWorld()
    asyncio.run(world.start())
    try:
        yield world
    finally:
        asyncio.run(world.stop())


def environment_of(world: BuiltInWorld) -> Environment:
    """Return the started `world` as an environment for this process only."""
    accounts = world.accounts
    sites = {
        name: {"url": url, "username": accounts[name].user, "password": accounts[name].password}
        for name, url in world.urls.items()
    }
    config = EnvironmentConfig.model_validate({"sites": sites})

    async def reset(names: Sequence[str], _: EnvironmentConfig) -> None:
        await asyncio.to_thread(world.reset, names)

    controls = {urlsplit(world.control_url).port or 0: IntegrityCode.CONTROL_ROUTE}
    return Environment(
        config,
        reset=reset,
        shared=False,
        ports=controls,
        served=world.served_since,
    )


def real_environment(path: Path | None = None, host: str | None = None) -> Environment:
    """Return the sites of a file and the variables, or those on `host` at the usual ports.

    Raises:
        InputError: No site is configured.
    """
    return Environment(default_config(host) if host and path is None else load_config(path))


def with_resets(
    environment: Environment, policies: Sequence[str], batch: int, folder: Path
) -> tuple[Environment, Resets]:
    """Return the environment with resets by `policies`, which are recorded in `folder`.

    Raises:
        InputError: A site or a policy is misspelt.
    """
    config = environment.config
    chosen = parse_policies(policies, config.sites)
    resets = Resets(config, chosen, batch=batch, folder=folder)
    if set(chosen.values()) == {"never"}:
        return environment, resets
    return replace(environment, reset=resets), resets
