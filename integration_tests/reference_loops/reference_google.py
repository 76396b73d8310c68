"""Google's Agent Development Kit over the scripted world: `python reference_google.py ASKED`, with google-adk of 2.13 or later.

Prints what it did in the world as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parent))

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.computer_use.base_computer import (
    BaseComputer,
    ComputerEnvironment,
    ComputerState,
)
from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
from google.genai import types
from scripted_world import SIZE, ScriptedWorld


class Computer(BaseComputer):
    """Both vocabularies, by the scripted world."""

    def __init__(self, world: ScriptedWorld) -> None:
        self.world = world

    def state(self) -> ComputerState:
        return ComputerState(screenshot=self.world.picture(), url=self.world.page().url)

    def noted(self, what: str) -> ComputerState:
        self.world.note(what)
        return self.state()

    def clicked(self, x: int, y: int, kind: str) -> ComputerState:
        self.world.click((x, y), kind)
        return self.state()

    async def screen_size(self) -> tuple[int, int]:
        return SIZE

    async def environment(self) -> ComputerEnvironment:
        return ComputerEnvironment.ENVIRONMENT_BROWSER

    async def current_state(self) -> ComputerState:
        return self.state()

    async def open_web_browser(self) -> ComputerState:
        return self.noted("wait")

    async def click_at(self, x: int, y: int) -> ComputerState:
        return self.clicked(x, y, "left click")

    async def double_click(self, x: int, y: int) -> ComputerState:
        return self.clicked(x, y, "double click")

    async def triple_click(self, x: int, y: int) -> ComputerState:
        return self.clicked(x, y, "triple click")

    async def middle_click(self, x: int, y: int) -> ComputerState:
        return self.clicked(x, y, "middle click")

    async def right_click(self, x: int, y: int) -> ComputerState:
        return self.clicked(x, y, "right click")

    async def mouse_down(self, x: int, y: int) -> ComputerState:
        return self.noted("mouse_down")

    async def mouse_up(self, x: int, y: int) -> ComputerState:
        return self.noted("mouse_up")

    async def key_down(self, key: str) -> ComputerState:
        return self.noted("key_down")

    async def key_up(self, key: str) -> ComputerState:
        return self.noted("key_up")

    async def hover_at(self, x: int, y: int) -> ComputerState:
        return self.noted("move")

    async def type_text_at(
        self,
        x: int,
        y: int,
        text: str,
        press_enter: bool = True,  # the reference's own signature
        clear_before_typing: bool = True,
    ) -> ComputerState:
        return self.noted("type")

    async def type_text(
        self,
        text: str,
        press_enter: bool = False,  # the reference's own signature
    ) -> ComputerState:
        return self.noted("type")

    async def scroll_document(
        self, direction: Literal["up", "down", "left", "right"]
    ) -> ComputerState:
        return self.noted("scroll")

    async def scroll_at(
        self,
        x: int,
        y: int,
        direction: Literal["up", "down", "left", "right"],
        magnitude: int = 800,
    ) -> ComputerState:
        return self.noted("scroll")

    async def wait(self, seconds: int) -> ComputerState:
        return self.noted("wait")

    async def go_back(self) -> ComputerState:
        return self.noted("back")

    async def go_forward(self) -> ComputerState:
        return self.noted("forward")

    async def search(self) -> ComputerState:
        return self.noted("search")

    async def navigate(self, url: str) -> ComputerState:
        self.world.go(url)
        return self.state()

    async def key_combination(self, keys: list[str]) -> ComputerState:
        return self.noted("keys")

    async def drag_and_drop(
        self, x: int, y: int, destination_x: int, destination_y: int
    ) -> ComputerState:
        return self.noted(f"drag {(x, y)} to {(destination_x, destination_y)}")


async def ran(asked: dict[str, Any]) -> dict[str, Any]:
    world = ScriptedWorld()
    os.environ.update(
        GOOGLE_API_KEY="a key of some length", GOOGLE_GEMINI_BASE_URL=asked["base_url"]
    )
    toolset = ComputerUseToolset(computer=Computer(world), allow_private_network_access=True)
    agent = LlmAgent(
        name="reference",
        model=Gemini(model=asked["model"], retry_options=types.HttpRetryOptions(attempts=1)),
        tools=[toolset],
        generate_content_config=types.GenerateContentConfig(
            max_output_tokens=16_000, thinking_config=types.ThinkingConfig(include_thoughts=True)
        ),
    )
    runner = InMemoryRunner(agent=agent)
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="Do it.")])
    problem = None
    try:
        for _ in range(3):
            asking = []
            async for event in runner.run_async(
                user_id="u", session_id=session.id, new_message=message,
                run_config=RunConfig(max_llm_calls=asked["turns"]),
            ):  # fmt: skip
                asking += [
                    each
                    for each in event.get_function_calls()
                    if each.name == "adk_request_confirmation"
                ]
            if not asking:
                break
            confirmed = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=each.id, name=each.name, response={"confirmed": True}
                    )
                )
                for each in asking
            ]
            message = types.Content(role="user", parts=confirmed)
    # what it raises is part of what is compared
    except Exception as error:  # noqa: BLE001
        problem = f"{type(error).__name__}: {error}"[:300]
    return {"done": world.done, "problem": problem}


def main() -> None:
    """Run one exchange after the other, each on a server of its own."""
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    done = {each["name"]: asyncio.run(ran(each)) for each in asked}
    print(json.dumps({"version": version("google-adk"), "exchanges": done}))


if __name__ == "__main__":
    main()
