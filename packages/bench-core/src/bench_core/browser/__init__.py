"""Find, launch, watch and kill Chromium with the standard library alone.

async with launch_chromium() as chromium:
    connect(chromium.cdp_url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.browser.blame import why_ended
    from bench_core.browser.chromium import Chromium, launch_chromium
    from bench_core.browser.commands import AgentCommand, CommandLog
    from bench_core.browser.endpoints import websocket_url
    from bench_core.browser.executable import find_chromium, install_command
    from bench_core.browser.gateway import Gateway, open_gateway
    from bench_core.browser.options import ChromiumOptions

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
    "websocket_url",
    "why_ended",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "blame": ("why_ended",),
        "chromium": ("Chromium", "launch_chromium"),
        "commands": ("AgentCommand", "CommandLog"),
        "endpoints": ("websocket_url",),
        "executable": ("find_chromium", "install_command"),
        "gateway": ("Gateway", "open_gateway"),
        "options": ("ChromiumOptions",),
    },
)
