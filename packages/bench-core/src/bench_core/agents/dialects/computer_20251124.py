"""Claude's computer tool of November 2025, which can zoom."""

from __future__ import annotations

from datetime import date

from bench_core.agents.dialects.claude_actions import COMPUTER
from bench_core.agents.dialects.claude_tool import ClaudeTool

__all__ = ["DIALECT"]


class _Computer20251124(ClaudeTool):
    name = "computer_20251124"
    models = (r"claude-opus-4-[567]", r"claude-sonnet-4-6")
    since = date(2026, 11, 27)
    beta = "computer-use-2025-11-24"
    members = COMPUTER


DIALECT = _Computer20251124()
