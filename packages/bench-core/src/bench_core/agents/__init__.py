"""Agents and what they stand on: observations, actions, the step loop, agents over models.

Names load lazily.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.agents.computer_use import computer_use_agent
    from bench_core.agents.environment import Connect, Environment, connect
    from bench_core.agents.http import http_agent
    from bench_core.agents.loop import LoopAgent, StepAgent
    from bench_core.agents.records import (
        Action,
        ActionResult,
        Back,
        Click,
        Decision,
        Done,
        Drag,
        Element,
        ElementRef,
        Fail,
        Goto,
        Move,
        Observation,
        Point,
        PressKeys,
        RunCode,
        Scroll,
        SwitchTab,
        Target,
        TypeText,
        Wait,
    )
    from bench_core.agents.remote import RemoteEnvironment, serve_environment
    from bench_core.agents.replay import read_actions, replay_agent, scripted_agent
    from bench_core.agents.tool_calling import tool_calling_agent

__all__ = [
    "Action",
    "ActionResult",
    "Back",
    "Click",
    "Connect",
    "Decision",
    "Done",
    "Drag",
    "Element",
    "ElementRef",
    "Environment",
    "Fail",
    "Goto",
    "LoopAgent",
    "Move",
    "Observation",
    "Point",
    "PressKeys",
    "RemoteEnvironment",
    "RunCode",
    "Scroll",
    "StepAgent",
    "SwitchTab",
    "Target",
    "TypeText",
    "Wait",
    "computer_use_agent",
    "connect",
    "http_agent",
    "read_actions",
    "replay_agent",
    "scripted_agent",
    "serve_environment",
    "tool_calling_agent",
]

_HOMES = {
    "computer_use": ("computer_use_agent",),
    "environment": ("Connect", "Environment", "connect"),
    "http": ("http_agent",),
    "loop": ("LoopAgent", "StepAgent"),
    "records": (
        "Action", "ActionResult", "Back", "Click", "Decision", "Done", "Drag", "Element",
        "ElementRef", "Fail", "Goto", "Move", "Observation", "Point", "PressKeys", "RunCode",
        "Scroll", "SwitchTab", "Target", "TypeText", "Wait",
    ),
    "remote": ("RemoteEnvironment", "serve_environment"),
    "replay": ("read_actions", "replay_agent", "scripted_agent"),
    "tool_calling": ("tool_calling_agent",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
