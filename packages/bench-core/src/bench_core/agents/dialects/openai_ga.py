"""OpenAI's `computer` tool, generally available since GPT-5.4."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from bench_core.agents.dialects.interface import Declaration, function_tools, place_text
from bench_core.agents.dialects.openai_computer import OpenAIComputer
from bench_core.agents.prompts import system_prompt

if TYPE_CHECKING:
    from bench_core.agents.dialects.interface import Screen

__all__ = ["DIALECT"]


class _Computer(OpenAIComputer):
    name = "computer"
    models = (r"gpt-5\.4(-mini|-pro)?", r"gpt-5\.[5-9](-.+)?", r"gpt-6(\.\d+)?(-.+)?")
    since = date(2026, 11, 27)

    def declare(self, screen: Screen) -> Declaration:
        return Declaration(
            native_tools=({"type": "computer"},),
            tools=function_tools(screen, navigation=True),
            system=system_prompt(screen.task, place=place_text(screen)),
        )


DIALECT = _Computer()
