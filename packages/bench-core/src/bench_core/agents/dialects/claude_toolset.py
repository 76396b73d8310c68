"""Claude's toolsets of August 2026: members with names of their own, and one result for each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.agents.dialects.interface import Declaration, Dialect, function_tools
from bench_core.agents.prompts import system_prompt

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.agents.dialects.interface import Screen
    from bench_core.models.records import ToolCall

__all__ = ["ClaudeToolset"]

# without it these models' words between calls arrive empty
_THINKING: dict[str, JsonValue] = {"type": "adaptive", "display": "summarized"}


class ClaudeToolset(Dialect):
    """A toolset; `family` is the name its calls carry."""

    provider = "anthropic"
    append_only = True
    family: ClassVar[str]
    navigation: ClassVar[bool] = True

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        on = self.available(screen)
        disabled = [name for name in (*self.members, *self.off) if name not in on]
        native: dict[str, JsonValue] = {"type": self.name}
        if disabled:
            native["configs"] = {name: {"enabled": False} for name in disabled}
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, navigation=self.navigation),
            body={"thinking": _THINKING},
            system=system_prompt(screen.task, on_request=True),
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        # the toolsets' names overlap with each other's and with tools of one's own
        return (call.name, dict(call.arguments or {})) if call.toolset == self.family else None
