"""The environments a run can use: the sites somebody hosts, or the built-in stand-ins."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webarena_runner.config import EnvironmentConfig, default_config, load_config
from webarena_runner.resets import Resets, parse_policies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from webarena_runner.world import BuiltInWorld

__all__ = [
    "Environment",
    "WorldReset",
    "built_in_world",
    "environment_of",
    "real_environment",
    "with_resets",
]


@dataclass(frozen=True)
class Environment:
    """Sites that trials can use.

    Attributes:
        config: Where they are and who logs in.
        reset: Puts sites back to their first state before a mutating trial, which holds them
            alone; null leaves them as they are.
        shared: Whether other processes can reach the sites, so that they must be held against them.
    """

    config: EnvironmentConfig
    reset: Callable[[Sequence[str]], Awaitable[None]] | None = None
    shared: bool = True


class WorldReset:
    """Puts stand-in sites back to their first state."""

    def __init__(self, world: BuiltInWorld) -> None:
        self._world = world

    async def __call__(self, sites: Sequence[str]) -> None:
        """Reset `sites`, which no other trial may be using."""
        await asyncio.to_thread(self._world.reset, sites)


@contextmanager
def built_in_world() -> Iterator[BuiltInWorld]:
    """Start the stand-in sites and stop them at the end; they run in threads of their own."""
    from webarena_runner.world import BuiltInWorld  # noqa: PLC0415  # only built-in runs need it

    world = BuiltInWorld()
    asyncio.run(world.start())
    try:
        yield world
    finally:
        asyncio.run(world.stop())


def environment_of(world: BuiltInWorld) -> Environment:
    """Return the started `world` as an environment of this process alone."""
    accounts = world.accounts
    sites = {
        name: {"url": url, "username": accounts[name].user, "password": accounts[name].password}
        for name, url in world.urls.items()
    }
    config = EnvironmentConfig.model_validate({"sites": sites})
    return Environment(config, reset=WorldReset(world), shared=False)


def real_environment(path: Path | None = None, host: str | None = None) -> Environment:
    """Return the sites of a file and the variables, or those on `host` at the usual ports.

    Raises:
        InputError: Neither says where any site is.
    """
    return Environment(default_config(host) if host and path is None else load_config(path))


def with_resets(
    environment: Environment, policies: Sequence[str], batch: int, folder: Path
) -> tuple[Environment, Resets]:
    """Return the environment with resets by `policies`, which `folder` gets a record of.

    Raises:
        InputError: A site or a policy is misspelt.
    """
    config = environment.config
    chosen = parse_policies(policies, config.sites)
    resets = Resets(config, chosen, batch=batch, folder=folder)
    if set(chosen.values()) == {"never"}:
        return environment, resets
    return replace(environment, reset=resets), resets
