"""Find, launch, watch and kill Chromium with the standard library alone.

async with launch_chromium() as chromium:
    connect(chromium.cdp_url)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.browser.blame import why_ended
    from bench_core.browser.chromium import Chromium, launch_chromium
    from bench_core.browser.commands import AgentCommand, CommandLog
    from bench_core.browser.endpoints import websocket_url
    from bench_core.browser.finding import find_chromium, install_command
    from bench_core.browser.gateway import Gateway, open_gateway
    from bench_core.browser.options import ChromiumOptions
    from bench_core.browser.profiles import sweep_leftovers

__all__ = [
    "AgentCommand",
    "Chromium",
    "ChromiumOptions",
    "CommandLog",
    "Gateway",
    "find_chromium",
    "install_command",
    "launch_chromium",
    "open_gateway",
    "sweep_leftovers",
    "websocket_url",
    "why_ended",
]

_HOMES = {
    "bench_core.browser.blame": ("why_ended",),
    "bench_core.browser.chromium": ("Chromium", "launch_chromium"),
    "bench_core.browser.commands": ("AgentCommand", "CommandLog"),
    "bench_core.browser.endpoints": ("websocket_url",),
    "bench_core.browser.finding": ("find_chromium", "install_command"),
    "bench_core.browser.gateway": ("Gateway", "open_gateway"),
    "bench_core.browser.options": ("ChromiumOptions",),
    "bench_core.browser.profiles": ("sweep_leftovers",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
