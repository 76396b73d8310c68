"""Checks before a run: faults that would fail every trial are refused, partial ones are warned about."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from bench_core.agent_process import agent_of
from bench_core.browser import find_chromium
from bench_core.errors import InputError
from bench_core.models import check_model_of
from bench_core.protocols import TrialContext
from bench_core.run_spec import RunSpec, select_tasks
from webarena_runner.config import EnvironmentConfig, shared_cookie_hosts
from webarena_runner.extraction import NO_MODEL
from webarena_runner.reference_solutions.scorability import Kind, installed_notes
from webarena_runner.site_checks import SiteFault, check_sites
from webarena_runner.site_copies import copy_configs
from webarena_runner.tasks import load_tasks, start_urls, task_sites

_MEANINGS: dict[Kind, str] = {
    "never": "cannot score 1.0 with any traffic",
    "no-browser": "cannot score 1.0 with an ordinary browser",
    "contact-probe": "cannot score 1.0 unless the shop reports unsent contact forms",
    "asked-form": "refuse the right answer in the form that they ask for",
    "free": "score 1.0 for doing nothing",
}


def planned_sites(spec: RunSpec) -> list[str]:
    """Return the sites that the planned tasks use."""
    tasks = select_tasks(load_tasks(), spec.tasks, spec.seed)
    return sorted({site for task in tasks for site in task_sites(task)})


def preflight(spec: RunSpec, config: EnvironmentConfig, timeout_s: float = 20.0) -> list[str]:
    """Refuse a run that cannot work and return warnings about one that will partly fail.

    Raises:
        InputError: A site has no URL, two sites would overwrite each other's cookies, or the agent
            or its model cannot be used.
        BrowserError: Chromium is missing.
    """
    tasks = select_tasks(load_tasks(), spec.tasks, spec.seed)
    sites, starts = planned_sites(spec), {url for task in tasks for url in start_urls(task)}
    for site in sites:
        config.site(site)
    # tasks on two sites that share a cookie; others are safe, as each trial has its own browser
    for host, names in shared_cookie_hosts(config).items():
        # of the 812 tasks five are on both the shop and reddit
        hurt = [t.task_id for t in tasks if len(set(names) & set(task_sites(t))) > 1]
        if hurt:
            raise InputError(
                f"{' and '.join(names)} are both on the host {host!r} and would overwrite each "
                f"other's session cookie in task {hurt[0]}: give them host names of their own, "
                f"e.g. {names[0].replace('_', '-')}.localhost"
            )
    with agent_of(spec) as agent:
        agent_name = agent.name
    if agent_name == "scripted" and spec.world != "built-in":
        raise InputError("the agent 'scripted' knows the built-in world only: add --world built-in")
    # elsewhere the agent itself looks before the run begins
    here = not spec.agent_process.is_foreign
    if agent_name == "browser-use" and here and "replay_calls" not in spec.config:
        from bench_core.browser_use import open_chat  # imports browser-use

        open_chat(_trial_of(spec))
    if spec.config.get("extract") == "model":
        name = spec.config.get("extract_model") or spec.model
        if name is None:
            raise InputError(NO_MODEL)
        check_model_of(_trial_of(spec).model_copy(update={"model": name}))
    find_chromium()
    down = [
        f"the site {site!r} is down, its trials will end without a score: {fault.detail}"
        if fault.is_down
        else f"the site {site!r} is not as the tasks need it: {fault}"
        for site, faults in asyncio.run(_faults(config, sites, starts, timeout_s))
        for fault in faults
    ]
    # planned tasks whose scores mean little; none is left out for that
    noted = installed_notes().count(task.task_id for task in tasks)
    return down + [
        f"{len(noted[kind])} of {len(tasks)} tasks {meaning} (`webarena-runner scorability`)"
        for kind, meaning in _MEANINGS.items()
        if kind in noted
    ]


async def _faults(
    config: EnvironmentConfig, sites: Sequence[str], starts: Collection[str], timeout_s: float
) -> list[tuple[str, list[SiteFault]]]:
    """Return the faults of each site, and of each copy of one."""
    first = await check_sites(config, sites, timeout_s, starts=starts)
    others = [(name, each) for name in sites for each in copy_configs(config, name)[1:]]
    checks = (check_sites(each, [name], timeout_s, starts=starts) for name, each in others)
    found = await asyncio.gather(*checks)
    return [*first.items(), *(item for each in found for item in each.items())]


def _trial_of(spec: RunSpec) -> TrialContext:
    """Return a trial context of the run, to open the agent's model before any trial; nothing is recorded."""
    return TrialContext(
        run_id="preflight",
        folder=Path(),
        agent=spec.agent,
        model=spec.model,
        config={name: value for name, value in spec.config.items() if name != "record_calls"},
    )
