"""Acts on a node: located at that moment, and carried out on it or on nothing.

Chromium sends the mouse to a place and keys to the focused element, and a page may change between the look and the
press. So each act is watched from within the page: events that would go to another node are kept from it, and reported.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_core.agents.observation_text import typed_text
from bench_core.agents.page_nodes import Held, Nodes, NoSuchTargetError
from bench_core.agents.page_scripts import script
from bench_core.agents.records import Button, ElementRef, SetValue, TypeText

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from bench_core.agents.browser_input import Pointer
    from bench_core.agents.browser_tabs import Tabs

_PATIENCE_S = 1.0
"""So long may a node move, be covered or be disabled before that is said."""
_STILL_S = 0.02
_TRIES = 4
_DOWN = ("pointerdown", "mousedown")
_CLICK = (*_DOWN, "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu")


class Aim(NamedTuple):
    """A spot of a node that the mouse would hit: in the page, and in its frame.

    `outer` are the frames around it, the nearest first: each with the number of the element that holds the inner one,
    and the spot in it.
    """

    at: tuple[float, float]
    spot: tuple[float, float]
    box: tuple[float, ...]
    held: Held
    number: int
    outer: tuple[tuple[Any, int, tuple[float, float]], ...] = ()


class NodeActs:
    """Carries out an agent's actions on elements, in the front page."""

    def __init__(
        self, nodes: Nodes, tabs: Tabs, pointer: Pointer, viewport: tuple[int, int]
    ) -> None:
        self._nodes = nodes
        self._tabs = tabs
        self._pointer = pointer
        self._viewport = viewport
        self.seen: Mapping[str, tuple[float, ...] | None] = {}
        """Boxes of elements at the last look."""

    async def click(self, page: Any, target: ElementRef, button: Button, count: int) -> str:
        """Press and release a button on a node, and return a report of the click.

        Raises:
            NoSuchTargetError: It cannot be clicked, or was not.
        """
        seen: dict[str, Any] = {}
        for attempt in range(_TRIES):
            aim = await self.aim(target, press=True, still=attempt == 0)
            await self._pointer.move(page, aim.at)
            press = partial(self._pointer.click, page, None, button, count)
            seen = await self._watched(aim, _CLICK, press)
            if seen.get("down") or not seen.get("elsewhere", "covered"):
                break
        me = f"element {target.element}"
        _refuse_missed(seen, me)
        if seen.get("clicks", count) < count and not seen["list"] and not seen["inner"]:
            if seen["gone"]:
                why = "the page took it away when it was pressed"
            elif seen["elsewhere"]:
                why = f"{seen['elsewhere']} came between the press and the release, and was kept from it"
            else:
                why = "the page kept the click back"
            raise NoSuchTargetError(
                f"{me} was pressed, but not clicked: {why}; look at what has become of it"
            )
        return str(seen["name"])

    async def press(self, page: Any, target: ElementRef, button: Button) -> None:
        """Press a button on a node and hold it."""
        aim = await self.aim(target, press=True)
        await self._pointer.move(page, aim.at)

        async def press(pressed: Callable[[], Awaitable[None]]) -> None:
            await self._pointer.press(page, None, button)
            await pressed()

        seen = await self._watched(aim, _DOWN, press)
        _refuse_missed(seen, f"element {target.element}")

    async def hover(self, page: Any, target: ElementRef) -> None:
        """Move the pointer onto a node."""
        aim = await self.aim(target)
        await self._pointer.move(page, aim.at)
        await self.aim(target, still=False)

    async def drag(self, page: Any, points: Sequence[ElementRef | tuple[float, float]]) -> None:
        """Press at the first of some places, move along the others, release at the last."""
        aims = [each if isinstance(each, tuple) else await self.aim(each) for each in points]
        # bringing one into view may have moved the others out of it
        for each, aim in zip(points, aims, strict=True):
            if not isinstance(each, tuple) and await self._spot(each, scroll=False) != aim:
                raise NoSuchTargetError(
                    "the places of the drag are not in view together: press, scroll and release in steps of their own"
                )
        places = [aim.at if isinstance(aim, Aim) else aim for aim in aims]
        if not isinstance(aims[0], Aim):
            await self._pointer.drag(page, places)
            return
        await self._pointer.move(page, places[0])
        press = partial(self._pointer.drag, page, places)
        seen = await self._watched(aims[0], _DOWN, press)
        _refuse_missed(seen, "what was to be dragged")

    async def bring(self, target: ElementRef) -> None:
        """Scroll until a node is in view."""
        wrong = (await self._on(target, script("bring"))).get("wrong")
        if wrong:
            raise NoSuchTargetError(f"element {target.element} {wrong}")

    async def aim(self, target: ElementRef, *, press: bool = False, still: bool = True) -> Aim:
        """Bring a node into view, wait until it stands still, and return a spot on it that the mouse hits.

        Raises:
            NoSuchTargetError: It is gone, in another tab, not visible, covered, or disabled if it is to be pressed.
        """
        until = time.monotonic() + _PATIENCE_S
        before: Aim | str | None = None
        while True:
            now = await self._spot(target, press=press)
            late = time.monotonic() > until
            if isinstance(now, Aim) and (late or not still or now == before):
                return now
            # a node that has not moved since the agent looked stands still
            if isinstance(now, Aim) and self.seen.get(str(now.number)) == now.box and not now.outer:
                return now
            if isinstance(now, str) and late:
                raise NoSuchTargetError(f"element {target.element} {now}")
            before = now
            await asyncio.sleep(_STILL_S)

    async def type(self, page: Any, action: TypeText) -> str:
        """Type into a node or the focused element, and into nothing else; return a report.

        Raises:
            NoSuchTargetError: It takes no text, or took only a part.
        """
        if not isinstance(action.target, ElementRef):
            return await self._type_on(page, action)
        me = f"element {action.target.element}"
        if await self._on(action.target, script("taking")) == "chosen":
            text = await self._choose(page, action.target, action.text)
            if not action.enter:
                return text
            await page.keyboard.press("Enter")
            return f"{text}, then Enter"
        await self.click(page, action.target, "left", 1)
        field = await self._on(action.target, script("focus"), {"clear": action.clear})
        if "wrong" in field:
            raise NoSuchTargetError(f"{me} {field['wrong']}")
        _, held = self._nodes.held(action.target.element)
        frames = _outer(held.frame)
        begun = await self._nodes.on(held, script("typing"), [field["number"]])
        if "wrong" in begun:
            raise NoSuchTargetError(f"{me} is gone: the page has drawn it anew; look again")
        for frame in frames:
            await self._nodes.ask(frame, script("typing"), [0])
        try:
            await _keys(page, action, field["before"])
        finally:
            seen = await self._ended(held, frames)
        if seen.get("elsewhere"):
            raise NoSuchTargetError(
                f"{me} lost the focus to {seen['elsewhere']} before all was typed; the rest was kept from it"
            )
        entered = seen.get("entered") if action.enter and "\n" not in action.text else None
        after = seen.get("after") if entered is None else entered
        if action.text and after == field["before"] and action.text not in after:
            raise NoSuchTargetError(f"{me} did not take the text: it has what it had before")
        return typed_text(action, field["name"], None if field["secret"] else after)

    async def set_value(self, page: Any, action: SetValue) -> str:
        """Give a control its value and return a report.

        Raises:
            NoSuchTargetError: It does not take the value.
        """
        value = action.value
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        return await self._choose(page, action.target, value)

    async def _choose(self, page: Any, target: ElementRef, wanted: float | str) -> str:
        found = await self._on(target, script("setValue"), wanted)
        if found.get("press"):
            await self.click(page, target, "left", 1)
            found = await self._on(target, script("setValue"), wanted)
            if found.get("press"):
                raise NoSuchTargetError(f"element {target.element} did not change: {found['text']}")
        if "wrong" in found:
            raise NoSuchTargetError(f"element {target.element} {found['wrong']}")
        if "type" in found:
            text = await self.type(page, TypeText(text=found["type"], target=target, clear=True))
            await self._on(target, script("leave"))
            return text
        return str(found["text"])

    async def _type_on(self, page: Any, action: TypeText) -> str:
        """Type into the focused field; the focus may move from field to field meanwhile."""
        from playwright.async_api import Error

        focus: dict[str, Any] = {"number": 0, "how": "", "name": ""}
        where = None
        for frame in page.frames:
            found = await self._nodes.ask(frame, script("selection"))
            if found is not None:
                focus, where = found, frame
                break
        there = f": {focus['name']} has it" if focus["name"] else ""
        nothing = f"nothing that takes text has the focus{there}; click a field first"
        before = ""
        if action.clear:
            if focus["how"] != "typed":
                raise NoSuchTargetError(nothing)
            field = await self._nodes.ask(where, script("focus"), [0, {"clear": True}])
            if field is None or "wrong" in field:
                raise NoSuchTargetError(
                    nothing if field is None else f"{focus['name']} {field['wrong']}"
                )
            before = field["before"]
        await _keys(page, action, before)
        if not focus["how"] and action.text:
            raise NoSuchTargetError(f"the keys were pressed, but {nothing}")
        holds = None
        if focus["how"] == "typed" and not action.enter:
            with suppress(Error):  # the page was left
                after = await self._nodes.ask(where, script("focus"), [0, {}])
                if after and after.get("number") == focus["number"] and not after["secret"]:
                    holds = after["before"]
        return typed_text(action, focus["name"] if focus["how"] else "", holds)

    async def _spot(
        self, target: ElementRef, *, press: bool = False, scroll: bool = True
    ) -> Aim | str:
        """Return the point where the mouse would hit a node now, or the reason why it cannot."""
        number, held = self._nodes.held(target.element)
        outer = _outer(held.frame)
        view, placed = None, None
        if outer:
            if scroll:
                await self._on(target, script("bring"))
            placed = await self._nodes.placed(held.frame)
            if placed is None:
                return "is not visible: its frame is not"
            left, top = -placed.x / placed.scale, -placed.y / placed.scale
            width, height = (each / placed.scale for each in self._viewport)
            inner = await held.frame.evaluate("() => [innerWidth, innerHeight]")
            view = [
                max(left, 0),
                max(top, 0),
                min(left + width, inner[0]),
                min(top + height, inner[1]),
            ]
        found = await self._on(
            target, script("aim"), {"press": press, "view": view, "scroll": scroll}
        )
        if "wrong" in found:
            return str(found["wrong"])
        x, y = found["spot"]
        at = (x, y)
        if placed is not None:
            at = (placed.x + placed.scale * x, placed.y + placed.scale * y)
        around = []
        for frame in outer:
            there = await self._nodes.placed(frame)
            if placed is None or there is None:
                return "is not visible: its frame is not"
            spot = ((at[0] - there.x) / there.scale, (at[1] - there.y) / there.scale)
            hit = await self._nodes.ask(frame, script("hit"), [placed.holder, spot])
            if hit is None or "wrong" in hit:
                return f"is in a frame that {hit['wrong'] if hit else 'is gone'}"
            around.append((frame, placed.holder, spot))
            placed = there
        return Aim(at, (x, y), tuple(found["box"]), held, number, tuple(around))

    async def _watched(
        self,
        aim: Aim,
        kinds: Sequence[str],
        press: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
    ) -> dict[str, Any]:
        """Press the mouse so that events reach one node only; return the events seen.

        `press` calls its argument once the button is down: if the release leaves the page, only
        the press is known.
        """
        from playwright.async_api import Error

        asked = {"spot": aim.spot, "kinds": kinds}
        begun = await self._nodes.on(aim.held, script("guard"), [aim.number, asked])
        if "wrong" in begun:
            return {"elsewhere": "another element"}
        frames = [frame for frame, _, _ in aim.outer]
        for frame, holder, spot in aim.outer:
            around = {"spot": spot, "kinds": kinds, "frame": True}
            begun_there = await self._nodes.ask(frame, script("guard"), [holder, around])
            if "wrong" in begun_there:
                await self._ended(aim.held, frames)
                return {"elsewhere": "another element"}
        down = False

        async def pressed() -> None:
            nonlocal down
            with suppress(NoSuchTargetError):  # the page was left by the press
                down = await self._nodes.on(aim.held, "refs => refs.guard.seen.down > 0")

        try:
            await press(pressed)
        except Error:
            if not aim.held.frame.page.is_closed():  # by the page itself, because of the press
                raise
        finally:
            seen = await self._ended(aim.held, frames)
        if "down" not in seen:
            return {"down": int(down), "name": begun["name"], "elsewhere": "", "left": True}
        return {**seen, "name": begun["name"]}

    async def _ended(self, held: Held, outer: Sequence[Any]) -> dict[str, Any]:
        """End the watch in a frame and in those around it; return the events seen."""
        from playwright.async_api import Error

        seen: dict[str, Any] = {}
        elsewhere = ""
        for place in (held, *outer):
            with suppress(NoSuchTargetError, Error):  # the page was left
                if isinstance(place, Held):
                    seen = await self._nodes.on(place, script("end"))
                else:
                    found = await self._nodes.ask(place, script("end"))
                    elsewhere = elsewhere or found["elsewhere"]
        if elsewhere and seen:
            seen["elsewhere"] = seen["elsewhere"] or elsewhere
        return seen

    async def _on(self, target: ElementRef, script: str, asked: Any = None) -> Any:
        """Run a script on a node of the page that is in front."""
        number, held = self._nodes.held(target.element)
        me = f"element {target.element}"
        gone = f"{me} is gone: the page has drawn it anew or been left; look again"
        page = held.frame.page
        if not held.frame.is_detached() and not page.is_closed() and page is not self._tabs.page():
            raise NoSuchTargetError(f"{me} is on another tab ({self._tabs.id(page)}: {page.url})")
        if held.frame.is_detached():
            raise NoSuchTargetError(gone)
        try:
            found = await self._nodes.on(held, script, [number, asked])
        except NoSuchTargetError as error:
            raise NoSuchTargetError(gone) from error
        if found is None:
            raise NoSuchTargetError(gone)
        return found


async def _keys(page: Any, action: TypeText, before: str) -> None:
    if action.text:
        # a tab is the key, as on a desktop: Playwright would put the character into the field
        for number, part in enumerate(action.text.split("\t")):
            if number:
                await page.keyboard.press("Tab")
            await page.keyboard.type(part)
    elif action.clear and before:
        await page.keyboard.press("Delete")
    if action.enter:
        await page.keyboard.press("Enter")


def _refuse_missed(seen: dict[str, Any], me: str) -> None:
    """Refuse a press that did not reach its node."""
    if seen.get("down") or seen.get("inner"):
        return
    why = "was not pressed: the page kept the mouse from it"
    if seen.get("left"):
        why = "may not have been pressed: the page was left at that moment; look again"
    elif seen.get("elsewhere"):
        why = f"moved away as it was pressed, from under the mouse to where {seen['elsewhere']} is: nothing was pressed"
    raise NoSuchTargetError(f"{me} {why}")


def _outer(frame: Any) -> tuple[Any, ...]:
    """Return the frames around a frame, the nearest first."""
    found = []
    while frame.parent_frame is not None:
        frame = frame.parent_frame
        found.append(frame)
    return tuple(found)
