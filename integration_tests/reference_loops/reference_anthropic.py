"""Anthropic's own tool runner over the scripted world: `python reference_anthropic.py ASKED`, with its SDK of 2.14 or later.

Prints what it did in the world as JSON.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

import anthropic
from anthropic import Anthropic, beta_tool
from anthropic.tools import ToolError
from anthropic.tools.browser import (
    BetaAbstractBrowserToolset20260801,
    BetaBrowserNavigateResult,
    BetaBrowserState,
    BetaDialogDismissed,
    BetaScreenshotResult,
)
from anthropic.tools.computer import (
    BetaAbstractComputerToolset20260801,
    BetaComputerCursorPositionResult,
)
from scripted_world import SIZE, RefusedError, ScriptedWorld

if TYPE_CHECKING:
    from collections.abc import Callable

OFF = ("javascript_exec", "file_upload", "read_console", "read_network")
CLICKS = {
    "left_click": "left click", "right_click": "right click", "middle_click": "middle click",
    "double_click": "double click", "triple_click": "triple click",
}  # fmt: skip
NOTED = {
    "hover": "move", "mouse_move": "move", "left_mouse_down": "mouse_down", "left_mouse_up": "mouse_up",
    "scroll": "scroll", "type": "type", "key": "keys", "hold_key": "hold_keys", "wait": "wait",
}  # fmt: skip


class Browser(BetaAbstractBrowserToolset20260801):
    """All members that are on by default, by the scripted world."""

    def __init__(self, world: ScriptedWorld) -> None:
        super().__init__(configs={name: {"enabled": False} for name in OFF})
        self.world = world

    def execute(self, context: Any, name: str, asked: Any) -> Any:
        world, tab = self.world, getattr(asked, "tab_id", None) or None
        try:
            if name in CLICKS:
                return world.click(place(asked.target), CLICKS[name], tab)
            if name in NOTED:
                return world.note(NOTED[name], tab)
            return IN_BROWSER[name](world, asked, tab)
        except RefusedError as error:
            raise ToolError(str(error)) from error

    def _browser_state(self, context: Any) -> BetaBrowserState:
        del context
        changes: list[Any] = [{"type": "tab_opened", "tab_id": each} for each in self.world.opened]
        changes += [BetaDialogDismissed(kind=k, message=text) for k, text in self.world.dialogs]
        self.world.opened.clear()
        self.world.dialogs.clear()
        tabs = [entry(self.world, each) for each in self.world.pages]
        return BetaBrowserState(tabs=tabs, state_changes=changes)


class Computer(BetaAbstractComputerToolset20260801):
    """All members, by the scripted world."""

    def __init__(self, world: ScriptedWorld) -> None:
        super().__init__(confirm=lambda _: True)
        self.world = world

    def execute(self, context: Any, name: str, asked: Any) -> Any:
        world = self.world
        try:
            if name in CLICKS:
                at = getattr(asked, "coordinate", None)
                return world.click(inside(at) if at else world.pointer, CLICKS[name])
            if name in {"screenshot", "zoom"}:
                return shot(world.picture())
            if name == "cursor_position":
                return BetaComputerCursorPositionResult(x=world.pointer[0], y=world.pointer[1])
            if name == "left_click_drag":
                ends = inside(asked.start_coordinate), inside(asked.coordinate)
                return world.note("drag {} to {}".format(*ends))
            return world.note(NOTED[name])
        except RefusedError as error:
            raise ToolError(str(error)) from error


def entry(world: ScriptedWorld, page: Any) -> Any:
    active = page.id == world.active
    return {"tab_id": page.id, "url": page.url, "title": page.title, "active": active}


def navigate(world: ScriptedWorld, asked: Any, tab: str | None) -> BetaBrowserNavigateResult:
    if asked.url in {"back", "forward", "reload"}:
        world.note(asked.url, tab)
    else:
        world.go(asked.url if "://" in asked.url else f"https://{asked.url}", tab)
    page = world.page(tab)
    return BetaBrowserNavigateResult(url=page.url, title=page.title or None)


def switch(world: ScriptedWorld, asked: Any, _: str | None) -> Any:
    world.switch(asked.tab_id)
    return entry(world, world.page())


IN_BROWSER: dict[str, Callable[[ScriptedWorld, Any, str | None], Any]] = {
    "navigate": navigate,
    "screenshot": lambda world, _, tab: shot(world.picture(tab)),
    "zoom": lambda world, _, tab: shot(world.picture(tab)),
    "read_page": lambda world, _, tab: world.outline(tab),
    "find": lambda world, asked, tab: f"found {asked.query} in {world.page(tab).id}",
    "get_page_text": lambda world, _, tab: f"text of {world.page(tab).title}",
    "new_tab": lambda world, *_: entry(world, world.open()),
    "list_tabs": lambda world, *_: [entry(world, each) for each in world.pages],
    "switch_tab": switch,
    "close_tab": lambda world, asked, _: world.close(asked.tab_id),
    "form_input": lambda world, asked, tab: world.click(asked.target.ref, "set_value", tab),
    "scroll_to": lambda world, asked, tab: world.click(asked.target.ref, "scroll_to", tab),
    "left_click_drag": lambda world, asked, tab: world.note(
        f"drag {place(asked.from_)} to {place(asked.target)}", tab
    ),
}


def place(target: Any) -> Any:
    return target.ref if target.type == "ref" else inside((target.x, target.y))


def inside(at: Any) -> tuple[int, int]:
    if not (0 <= at[0] <= SIZE[0] and 0 <= at[1] <= SIZE[1]):
        raise RefusedError(f"Coordinates {at[0]}, {at[1]} are out of bounds")
    return at[0], at[1]


def shot(data: bytes) -> BetaScreenshotResult:
    return BetaScreenshotResult(data=base64.b64encode(data).decode("ascii"))


def main() -> None:
    """Run one exchange after the other, each on a server of its own."""
    done = {}
    for asked in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        world = ScriptedWorld()
        toolset = Browser(world) if asked["dialect"].startswith("browser") else Computer(world)

        @beta_tool(name="done", description="End: the task is done.")
        def ended(answer: str = "") -> str:
            return f"ended with {answer}"

        client = Anthropic(
            base_url=asked["base_url"], api_key="a key of some length", max_retries=0
        )
        runner = client.beta.messages.tool_runner(
            model=asked["model"],
            max_tokens=16_000,
            max_iterations=asked["turns"],
            messages=[{"role": "user", "content": "Do it."}],
            tools=[toolset, ended],
            thinking={"type": "adaptive", "display": "summarized"},
            cache_control={"type": "ephemeral"},
            thread=False,  # ours sends all turns, as the API without threads wants them
        )
        problem = None
        try:
            runner.until_done()
        # what it raises is part of what is compared
        except Exception as error:  # noqa: BLE001
            problem = f"{type(error).__name__}: {error}"
        done[asked["name"]] = {"done": world.done, "problem": problem}
    print(json.dumps({"version": anthropic.__version__, "exchanges": done}))


if __name__ == "__main__":
    main()
