"""Claude's computer tool of January 2025."""

from __future__ import annotations

from datetime import date

from bench_core.agents.dialects.claude_actions import COMPUTER
from bench_core.agents.dialects.claude_tool import ClaudeTool

__all__ = ["DIALECT"]

_MEMBERS = {name: member for name, member in COMPUTER.items() if name != "zoom"}


class _Computer20250124(ClaudeTool):
    name = "computer_20250124"
    models = (
        r"claude-(sonnet|haiku)-4-5", r"claude-(sonnet|opus)-4(-[01])?", r"claude-3-7-sonnet",
    )  # fmt: skip
    since = date(2026, 11, 27)
    beta = "computer-use-2025-01-24"
    members = _MEMBERS


DIALECT = _Computer20250124()
