"""The parts of agents that are particular to WebArena-Verified: instructions and answer format."""

from __future__ import annotations

from bench_core.moved import moved_names

__getattr__ = moved_names(
    __name__,
    {
        "BrowserUseAgent": "bench_core.browser_use:BrowserUseAgent",
        "DoNothingAgent": "bench_core.agents.plugins:DoNothingPlugin",
        "ScriptedAgent": "bench_core.agents.plugins:ScriptedPlugin",
    },
)
