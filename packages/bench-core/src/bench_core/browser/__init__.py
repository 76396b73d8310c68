"""Find, launch, watch and kill Chromium with the standard library alone; share one through Playwright.

async with launch_chromium() as chromium:
    connect(chromium.cdp_url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.browser.blame import why_ended
    from bench_core.browser.checks import browser_checks
    from bench_core.browser.chromium import Chromium, launch_chromium
    from bench_core.browser.commands import AgentCommand, CommandLog
    from bench_core.browser.connection import CdpConnection, CdpError
    from bench_core.browser.endpoints import websocket_url
    from bench_core.browser.executable import find_chromium, install_command
    from bench_core.browser.exploit_agent import ExploitAgent
    from bench_core.browser.gateway import Gateway, open_gateway
    from bench_core.browser.guard import BrowserGuard, open_guard
    from bench_core.browser.options import ChromiumOptions
    from bench_core.browser.places import Places, is_local_page
    from bench_core.browser.port_watch import PortWatch
    from bench_core.browser.rules import AGENT_RULES, Rule, RuleBook
    from bench_core.browser.shared import SharedChromium, attached_chromium, require_playwright

__all__ = [
    "AGENT_RULES",
    "AgentCommand",
    "BrowserGuard",
    "CdpConnection",
    "CdpError",
    "Chromium",
    "ChromiumOptions",
    "CommandLog",
    "ExploitAgent",
    "Gateway",
    "Places",
    "PortWatch",
    "Rule",
    "RuleBook",
    "SharedChromium",
    "attached_chromium",
    "browser_checks",
    "find_chromium",
    "install_command",
    "is_local_page",
    "launch_chromium",
    "open_gateway",
    "open_guard",
    "require_playwright",
    "websocket_url",
    "why_ended",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "blame": ("why_ended",),
        "checks": ("browser_checks",),
        "chromium": ("Chromium", "launch_chromium"),
        "commands": ("AgentCommand", "CommandLog"),
        "connection": ("CdpConnection", "CdpError"),
        "endpoints": ("websocket_url",),
        "executable": ("find_chromium", "install_command"),
        "exploit_agent": ("ExploitAgent",),
        "gateway": ("Gateway", "open_gateway"),
        "guard": ("BrowserGuard", "open_guard"),
        "options": ("ChromiumOptions",),
        "places": ("Places", "is_local_page"),
        "port_watch": ("PortWatch",),
        "rules": ("AGENT_RULES", "Rule", "RuleBook"),
        "shared": ("SharedChromium", "attached_chromium", "require_playwright"),
    },
)
