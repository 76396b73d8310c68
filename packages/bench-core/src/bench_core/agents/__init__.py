"""Agents and what they are built on: observations, actions, the step loop, agents for any model.

Names load lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.agents.browser import BrowserEnvironment
    from bench_core.agents.computer_use import computer_use_agent
    from bench_core.agents.conversation import Conversation
    from bench_core.agents.element_finder import named_element
    from bench_core.agents.environment import Environment
    from bench_core.agents.handles import Connect, connect
    from bench_core.agents.http import http_agent
    from bench_core.agents.loop import LoopAgent, StepAgent
    from bench_core.agents.plugins import images_shown
    from bench_core.agents.prompts import observation_parts, system_prompt
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
    from bench_core.agents.remote_environment import RemoteEnvironment, serve_environment
    from bench_core.agents.replay import read_actions, replay_agent, scripted_agent
    from bench_core.agents.tool_calling import CallingStepper, tool_calling_agent
    from bench_core.agents.tools import TOOLS, InvalidCallError, action_of

__all__ = [
    "TOOLS",
    "Action",
    "ActionResult",
    "Back",
    "BrowserEnvironment",
    "CallingStepper",
    "Click",
    "Connect",
    "Conversation",
    "Decision",
    "Done",
    "Drag",
    "Element",
    "ElementRef",
    "Environment",
    "Fail",
    "Goto",
    "InvalidCallError",
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
    "action_of",
    "computer_use_agent",
    "connect",
    "http_agent",
    "images_shown",
    "named_element",
    "observation_parts",
    "read_actions",
    "replay_agent",
    "scripted_agent",
    "serve_environment",
    "system_prompt",
    "tool_calling_agent",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "browser": ("BrowserEnvironment",),
        "computer_use": ("computer_use_agent",),
        "conversation": ("Conversation",),
        "element_finder": ("named_element",),
        "environment": ("Environment",),
        "handles": ("Connect", "connect"),
        "http": ("http_agent",),
        "loop": ("LoopAgent", "StepAgent"),
        "plugins": ("images_shown",),
        "prompts": ("observation_parts", "system_prompt"),
        "records": (
            "Action",
            "ActionResult",
            "Back",
            "Click",
            "Decision",
            "Done",
            "Drag",
            "Element",
            "ElementRef",
            "Fail",
            "Goto",
            "Move",
            "Observation",
            "Point",
            "PressKeys",
            "RunCode",
            "Scroll",
            "SwitchTab",
            "Target",
            "TypeText",
            "Wait",
        ),
        "remote_environment": ("RemoteEnvironment", "serve_environment"),
        "replay": ("read_actions", "replay_agent", "scripted_agent"),
        "tool_calling": ("CallingStepper", "tool_calling_agent"),
        "tools": ("InvalidCallError", "TOOLS", "action_of"),
    },
)
