"""OpenAI's Agents SDK over the scripted world: `python reference_openai.py ASKED`, with openai-agents of 0.24 or later.

Prints what it did in the world as JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from agents import (
    Agent,
    AsyncComputer,
    ComputerTool,
    ModelSettings,
    OpenAIResponsesModel,
    Runner,
    StopAtTools,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from scripted_world import SIZE, RefusedError, ScriptedWorld

BUTTONS = {"wheel": "middle"}


class Computer(AsyncComputer):
    """All actions, by the scripted world."""

    def __init__(self, world: ScriptedWorld) -> None:
        self.world = world

    async def screenshot(self) -> str:
        return base64.b64encode(self.world.picture()).decode("ascii")

    async def click(self, x: int, y: int, button: str, keys: Any = None) -> None:
        self.world.click(inside(x, y), f"{BUTTONS.get(button, button)} click")

    async def double_click(self, x: int, y: int, keys: Any = None) -> None:
        self.world.click(inside(x, y), "double click")

    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int, keys: Any = None) -> None:
        self.world.note("scroll")

    async def type(self, text: str) -> None:
        self.world.note("type")

    async def wait(self) -> None:
        self.world.note("wait")

    async def move(self, x: int, y: int, keys: Any = None) -> None:
        self.world.note("move")

    async def keypress(self, keys: list[str]) -> None:
        self.world.note("keys")

    async def drag(self, path: list[tuple[int, int]], keys: Any = None) -> None:
        self.world.note(f"drag {path[0]} to {path[-1]}")


def inside(x: int, y: int) -> tuple[int, int]:
    if not (0 <= x < SIZE[0] and 0 <= y < SIZE[1]):
        raise RefusedError(f"({x}, {y}) is outside the screen")
    return x, y


def functions(world: ScriptedWorld) -> list[Any]:
    @function_tool
    def goto(url: str) -> str:
        world.go(url)
        return "ok"

    @function_tool
    def back() -> str:
        world.note("back")
        return "ok"

    @function_tool
    def switch_tab(index: int) -> str:
        if index >= len(world.pages):
            raise RefusedError(f"there is no tab {index}")
        world.switch(world.pages[index].id)
        return "ok"

    @function_tool
    def done(answer: str = "") -> str:
        return answer

    return [goto, back, switch_tab, done]


async def ran(asked: dict[str, Any]) -> dict[str, Any]:
    world = ScriptedWorld()
    client = AsyncOpenAI(base_url=asked["base_url"], api_key="a key of some length", max_retries=0)
    agent = Agent(
        name="reference",
        model=OpenAIResponsesModel(asked["model"], client),
        tools=[ComputerTool(Computer(world), on_safety_check=lambda _: True), *functions(world)],
        tool_use_behavior=StopAtTools(stop_at_tool_names=["done"]),
        model_settings=ModelSettings(
            store=False, response_include=["reasoning.encrypted_content"], max_tokens=16_000
        ),
    )
    problem = None
    try:
        await Runner.run(agent, "Do it.", max_turns=asked["turns"])
    # what it raises is part of what is compared
    except Exception as error:  # noqa: BLE001
        problem = f"{type(error).__name__}: {error}"
    return {"done": world.done, "problem": problem}


def main() -> None:
    """Run one exchange after the other, each on a server of its own."""
    set_tracing_disabled(True)
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    done = {each["name"]: asyncio.run(ran(each)) for each in asked}
    print(json.dumps({"version": version("openai-agents"), "exchanges": done}))


if __name__ == "__main__":
    main()
