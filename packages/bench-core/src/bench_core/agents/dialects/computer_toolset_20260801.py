"""Claude's computer toolset of August 2026."""

from __future__ import annotations

from datetime import date

from bench_core.agents.dialects.claude_actions import COMPUTER
from bench_core.agents.dialects.claude_toolset import ClaudeToolset

__all__ = ["DIALECT"]


class _ComputerToolset20260801(ClaudeToolset):
    name = "computer_toolset_20260801"
    models = (
        r"claude-opus-4-8", r"claude-(opus|sonnet)-5(-5)?", r"claude-haiku-5-5",
        r"claude-(fable|mythos)-5(-[12])?",
    )  # fmt: skip
    since = date(2026, 11, 27)
    family = "computer"
    halted = "Not executed: an earlier computer action in this turn failed."
    members = COMPUTER


DIALECT = _ComputerToolset20260801()
