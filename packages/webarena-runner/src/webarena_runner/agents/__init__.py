"""Agents that work on WebArena-Verified tasks: browser-use, a scripted one and one that does nothing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webarena_runner.agents.browser_use import BrowserUseAgent
    from webarena_runner.agents.do_nothing import DoNothingAgent
    from webarena_runner.agents.scripted import ScriptedAgent

__all__ = ["BrowserUseAgent", "DoNothingAgent", "ScriptedAgent"]

_HOME_OF = {
    "BrowserUseAgent": "browser_use",
    "DoNothingAgent": "do_nothing",
    "ScriptedAgent": "scripted",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
