"""Policies for resets of sites during a run, and the record of resets.

::

    never                  the state of earlier trials stays
    before-run             once, before the first trial of a session
    before-mutating-trial  before every trial that is expected to change the site
    per-batch              before the first such trial, and again after every batch of them

A mutating trial has exclusive use of its sites, so that a reset before it excludes all other trials;
before a run, the sites are locked against other processes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, get_args

from pydantic import NonNegativeFloat

from bench_core.errors import InputError
from bench_core.records import Record, Resource
from bench_core.records.codec import encode
from bench_core.redaction import Redactor
from bench_core.scheduling import MachineLocks
from webarena_runner.config import EnvironmentConfig
from webarena_runner.site_control import reset_method_of, reset_site
from webarena_runner.site_copies import copy_configs
from webarena_runner.tasks import BENCHMARK

ResetPolicy = Literal["never", "before-run", "before-mutating-trial", "per-batch"]
RESET_POLICIES: tuple[ResetPolicy, ...] = get_args(ResetPolicy)
RESETS_FILE = "resets.jsonl"


class Reset(Record):
    """One reset of one site, or copy of it; `seconds` is the time until it could be used again."""

    site: str
    url: str | None = None
    policy: ResetPolicy
    started: datetime
    seconds: NonNegativeFloat


def parse_policies(given: Sequence[str], sites: Iterable[str]) -> dict[str, ResetPolicy]:
    """Return the policy of each site from `POLICY` (all sites) and `SITE=POLICY`, later ones win.

    Raises:
        InputError: A site or a policy is misspelt.
    """
    policies: dict[str, ResetPolicy] = dict.fromkeys(sites, "never")
    for each in given:
        name, equals, policy = each.rpartition("=")
        if policy not in RESET_POLICIES:
            raise InputError(f"{each!r}: choose a reset policy from {', '.join(RESET_POLICIES)}")
        if equals and name not in policies:
            raise InputError(f"{each!r}: no site {name!r} is configured")
        policies.update(dict.fromkeys([name] if equals else policies, policy))
    return policies


class Resets:
    """Resets sites by their policies; `Environment.reset` of a run.

    Args:
        config: The URLs of the sites, and how they are reset.
        policies: The policy of each site; a site without one is never reset.
        batch: Mutating trials between two resets under `per-batch`.
        folder: The run folder, which gets `resets.jsonl`.
        do: Function that resets one site and returns the seconds; replaced in tests.
    """

    def __init__(
        self,
        config: EnvironmentConfig,
        policies: Mapping[str, ResetPolicy],
        *,
        batch: int = 20,
        folder: Path | None = None,
        do: Callable[[EnvironmentConfig, str], float] = reset_site,
    ) -> None:
        self.done: list[Reset] = []
        self._config = config
        self._policies = policies
        self._batch = batch
        self._folder = folder
        self._do = do
        # by origin: each copy of a site has its own state
        self._since: Counter[str] = Counter()
        self._written = 0

    def require_reset_methods(self, sites: Iterable[str]) -> None:
        """Refuse policies for sites that cannot be reset.

        Raises:
            InputError: A site to be reset has neither Docker here nor a hook.
        """
        for name in sites:
            if self._policy(name) != "never" and reset_method_of(self._config, name) is None:
                raise InputError(
                    f"the site {name!r} is to be reset {self._policy(name)}, but Docker does not "
                    "run it on this machine and it has no `reset_hook`"
                )

    async def before_run(self, sites: Iterable[str], locks: MachineLocks) -> None:
        """Reset the sites with the policy `before-run`, locked against other processes."""
        due = [
            (name, copy)
            for name in sites
            if self._policy(name) == "before-run"
            for copy in copy_configs(self._config, name)
        ]
        resources = [self._resource(name, copy) for name, copy in due]
        locked = await locks.acquire(resources, lambda _: None)
        try:
            await asyncio.gather(*(self._reset(name, copy) for name, copy in due))
        finally:
            locked.release()

    async def __call__(self, sites: Sequence[str], config: EnvironmentConfig | None = None) -> None:
        """Do the resets that are due before a mutating trial, which has exclusive use of `sites`.

        Args:
            sites: Their names.
            config: The sites that the trial uses, if there are copies.
        """
        config = config or self._config
        origins = {name: config.site(name).origin for name in sites}
        due = [name for name in sites if self._is_due(name, origins[name])]
        await asyncio.gather(*(self._reset(name, config) for name in due))
        self._since.update(origins.values())
        self.write()

    def write(self) -> None:
        """Append the resets that are not written yet to the run folder, once that exists."""
        # the resets before a run happen before its folder exists
        if self._folder is None or not self._folder.is_dir():
            return
        fresh, self._written = self.done[self._written :], len(self.done)
        with (self._folder / RESETS_FILE).open("ab") as file:
            file.writelines(encode(each, Redactor.from_environment()) + b"\n" for each in fresh)

    def _policy(self, name: str) -> ResetPolicy:
        return self._policies.get(name, "never")

    def _is_due(self, name: str, origin: str) -> bool:
        policy = self._policy(name)
        first = origin not in self._since
        full = self._since[origin] >= self._batch
        return policy == "before-mutating-trial" or (policy == "per-batch" and (first or full))

    async def _reset(self, name: str, config: EnvironmentConfig) -> None:
        started = datetime.now(timezone.utc)
        # a reset may take minutes, in which trials on other sites go on
        seconds = await asyncio.to_thread(self._do, config, name)
        origin = config.site(name).origin
        self._since[origin] = 0
        url = origin if config.site(name).copies else None
        record = Reset(
            site=name, url=url, policy=self._policy(name), started=started, seconds=seconds
        )
        self.done.append(record)

    def _resource(self, name: str, config: EnvironmentConfig | None = None) -> Resource:
        origin = (config or self._config).site(name).origin
        return Resource(name=f"{BENCHMARK}:{name}@{origin}", mode="exclusive")
