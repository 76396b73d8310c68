"""Agents for a Windows desktop, by the names `--agent` takes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_client.agents.checkout import CheckoutAgent
    from waa_client.agents.loading import load_agent
    from waa_client.agents.simple import (
        ComputerUseAgent,
        DoNothingAgent,
        HttpAgent,
        ReplayAgent,
        ScriptedAgent,
    )
    from waa_client.agents.vision import VisionAgent

__all__ = [
    "CheckoutAgent",
    "ComputerUseAgent",
    "DoNothingAgent",
    "HttpAgent",
    "ReplayAgent",
    "ScriptedAgent",
    "VisionAgent",
    "load_agent",
]

_HOMES = {
    "checkout": ("CheckoutAgent",),
    "loading": ("load_agent",),
    "simple": ("ComputerUseAgent", "DoNothingAgent", "HttpAgent", "ReplayAgent", "ScriptedAgent"),
    "vision": ("VisionAgent",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
