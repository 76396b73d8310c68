"""OpenAI's `computer_use_preview` tool, which is given the size of the screen."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from bench_core.agents.dialects.interface import Declaration, function_tools, place_text
from bench_core.agents.dialects.openai_computer import OpenAIComputer
from bench_core.agents.prompts import system_prompt

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.agents.dialects.interface import Screen

__all__ = ["DIALECT"]


class _ComputerUsePreview(OpenAIComputer):
    name = "computer_use_preview"
    models = (r"computer-use(-preview)?",)
    since = date(2026, 11, 27)

    def declare(self, screen: Screen) -> Declaration:
        native: dict[str, JsonValue] = {
            "type": "computer_use_preview", "display_width": screen.size[0],
            "display_height": screen.size[1],
            "environment": "browser" if screen.browser else "windows",
        }  # fmt: skip
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, navigation=True),
            system=system_prompt(screen.task, place=place_text(screen)),
            body={"truncation": "auto"},  # the model refuses requests without it
        )


DIALECT = _ComputerUsePreview()
