"""Agents for a Windows desktop; `bench_core.discovery.load_agent` finds them by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_client.agents.checkout import CheckoutAgent
    from waa_client.agents.simple import HttpAgent, ReplayAgent
    from waa_client.agents.vision import VisionAgent

__all__ = ["CheckoutAgent", "HttpAgent", "ReplayAgent", "VisionAgent"]

_HOMES = {
    "checkout": ("CheckoutAgent",),
    "simple": ("HttpAgent", "ReplayAgent"),
    "vision": ("VisionAgent",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
