"""The debugging port of a Chromium that was asked for one: only a port tells Chromium's methods and which page is in front."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench_core.browser import ChromiumOptions

if TYPE_CHECKING:
    from bench_core.browser import Chromium

OWN_PORT = ChromiumOptions(extra_arguments=("--remote-debugging-port=0",))


async def own_port(chromium: Chromium) -> int:
    """Return the port of a Chromium that was started with `OWN_PORT`; it may answer before it has one."""
    written = chromium.profile / "DevToolsActivePort"
    for _ in range(3_000):
        if written.exists() and "\n" in (text := written.read_text(encoding="utf-8")):
            return int(text.split()[0])
        await asyncio.sleep(0.02)
    raise AssertionError(f"no port is in {written}")
