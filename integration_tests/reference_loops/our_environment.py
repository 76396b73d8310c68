"""The scripted world as an environment of our agents."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from scripted_world import SIZE, RefusedError, ScriptedWorld

from bench_core.agents import (
    Action,
    ActionResult,
    ActivateTab,
    Back,
    Click,
    CloseTab,
    Drag,
    ElementRef,
    FindElements,
    Forward,
    Goto,
    ListTabs,
    NewTab,
    Observation,
    PageText,
    Point,
    PointerPosition,
    ReadPage,
    Reload,
    Screenshot,
    ScrollTo,
    SetValue,
    SwitchTab,
    Tab,
    Zoom,
)
from bench_core.agents.dialects import all_dialects
from bench_core.models import ImagePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["OurEnvironment"]

_HISTORY = {Back: "back", Forward: "forward", Reload: "reload"}


class OurEnvironment:
    """One scripted world, observed and acted on."""

    def __init__(self, *, browser: bool) -> None:
        self.world = ScriptedWorld()
        self._browser = browser

    @asynccontextmanager
    async def connect(self, _: object) -> AsyncIterator[OurEnvironment]:
        """Stand in for the connection of an agent to an environment."""
        yield self

    async def offers(self) -> frozenset[str]:
        """Return every kind that some dialect needs."""
        kinds = {
            k for each in all_dialects().values() for m in each.members.values() for k in m.needs
        }
        browsing = {"goto", "back", "switch_tab"}
        return frozenset(kinds | browsing if self._browser else kinds - browsing)

    async def observe(self) -> Observation:
        """Return the active page."""
        page = self.world.page()
        seen = Observation(screenshot=ImagePart.from_bytes(self.world.picture()), size=SIZE)
        if not self._browser:
            return seen
        tabs = self._tabs()
        active = next(number for number, each in enumerate(tabs) if each.active)
        return seen.model_copy(
            update={
                "url": page.url, "title": page.title, "open_tabs": tabs, "active_tab": active,
                "tabs": tuple(each.url for each in tabs),
            }
        )  # fmt: skip

    def _tabs(self) -> tuple[Tab, ...]:
        return tuple(
            Tab(id=each.id, url=each.url, title=each.title, active=each.id == self.world.active)
            for each in self.world.pages
        )

    async def act(self, action: Action) -> ActionResult:
        """Do one thing."""
        try:
            result = self._do(action)
        except RefusedError as error:
            return ActionResult(ok=False, error=str(error))
        asked = [f'A {kind} dialog "{text}" was dismissed.' for kind, text in self.world.dialogs]
        self.world.dialogs.clear()
        changed = {"changed": " ".join(asked), "tabs": self._tabs() if self._browser else ()}
        return result.model_copy(update=changed)

    def _do(self, action: Action) -> ActionResult:  # noqa: C901, PLR0912  # one line an action
        world, tab = self.world, getattr(action, "tab", "") or None
        if isinstance(action, Click):
            kind = {2: "double", 3: "triple"}.get(action.count, action.button)
            world.click(_at(action.target, world), f"{kind} click", tab)
        elif isinstance(action, Screenshot | Zoom):
            return ActionResult(image=ImagePart.from_bytes(world.picture(tab)))
        elif isinstance(action, PointerPosition):
            return ActionResult(text="X={},Y={}".format(*world.pointer))
        elif isinstance(action, ReadPage):
            return ActionResult(text=world.outline(tab))
        elif isinstance(action, FindElements):
            return ActionResult(text=f"found {action.query} in {world.page(tab).id}")
        elif isinstance(action, PageText):
            return ActionResult(text=f"text of {world.page(tab).title}")
        elif isinstance(action, NewTab):
            world.open()
        elif isinstance(action, ActivateTab):
            world.switch(action.tab)
        elif isinstance(action, SwitchTab):
            if action.index >= len(world.pages):
                raise RefusedError(f"there is no tab {action.index}")
            world.switch(world.pages[action.index].id)
        elif isinstance(action, CloseTab):
            world.close(action.tab)
        elif isinstance(action, Goto):
            url = action.url if "://" in action.url else f"https://{action.url}"
            world.go(url, tab)
        elif isinstance(action, tuple(_HISTORY)):
            world.note(_HISTORY[type(action)], tab)
        elif isinstance(action, SetValue | ScrollTo):
            world.click(action.target.element, action.kind, tab)
        elif isinstance(action, Drag):
            world.note(f"drag {_at(action.start, world)} to {_at(action.end, world)}", tab)
        elif not isinstance(action, ListTabs):
            world.note(action.kind, tab)
        return ActionResult()


def _at(target: Point | ElementRef | None, world: ScriptedWorld) -> tuple[float, float] | str:
    if target is None:
        return world.pointer
    return target.element if isinstance(target, ElementRef) else (round(target.x), round(target.y))
