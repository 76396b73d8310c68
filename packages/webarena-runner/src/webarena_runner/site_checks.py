"""Checks whether sites answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench_core.errors import EnvironmentFaultError
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.web import WebClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webarena_runner.config import EnvironmentConfig

_SERVER_ERROR = 500


async def check_sites(
    config: EnvironmentConfig, names: Iterable[str], timeout_s: float = 20.0
) -> dict[str, str | None]:
    """Return for each site why it cannot be used, or None when it answers."""
    wanted = sorted(set(names))
    faults = await asyncio.gather(
        *(asyncio.to_thread(site_fault, config, name, timeout_s) for name in wanted)
    )
    return dict(zip(wanted, faults, strict=True))


def site_fault(config: EnvironmentConfig, name: str, timeout_s: float = 20.0) -> str | None:
    """Return why the site `name` cannot be used, or None when it answers below 500."""
    url = config.site(name).url + SITE_FACTS[name].health_path
    try:
        page = WebClient(timeout_s).get(url)
    except EnvironmentFaultError as error:
        return str(error)
    if page.status >= _SERVER_ERROR:
        return f"{page.url} answers with status {page.status}"
    return None
