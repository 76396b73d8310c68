"""Numbers for the nodes of a browser's pages that an agent has been shown."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from bench_core.agents.page_scripts import registry, script

_NAME = re.compile(r"(?:ref_)?([1-9][0-9]{0,8})")


class NoSuchTargetError(Exception):
    """The agent named something that is not there, or that cannot be acted on now."""


@dataclass(eq=False)
class Held:
    """The place where a number stands for a node: its frame, and the handle of its document's registry.

    `kept` is the end of the numbers that the registry has given away for good.
    """

    frame: Any
    registry: Any
    kept: int = 0


class Placed(NamedTuple):
    """A frame's viewport in its page's: `x + scale * theirs`; `holder` is the number of its element."""

    x: float
    y: float
    scale: float
    holder: int


class Nodes:
    """The registry of nodes, one per browser.

    A number stands for one node of one document of one frame of one tab, permanently: no two nodes of the browser
    have the same, and a node that the page draws anew gets another. `Element.id` of an observation is the number
    ("12"); "ref_12" is the same node.

    A script that names nodes runs by `ask` in each frame (`page.frames`: those of other origins, too). It is a
    function `(refs, asked) => ...`, where `refs.number(node)` gives a node its number, also one in an open shadow
    root, and `refs.node(number)` is the node, or null if it is gone. Rectangles are those of the frame's own
    viewport; `placed` gives its position in the viewport of the page.
    """

    def __init__(self) -> None:
        self._registries: WeakKeyDictionary[Any, Held] = WeakKeyDictionary()
        self._next = 1
        # whose the numbers are: from each start on, until the next
        self._starts: list[int] = []
        self._held: list[Held] = []
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, frame: Any, script: str, asked: Any = None) -> Any:
        """Run `script` with the registry of the frame's document and return its result.

        Raises:
            playwright.async_api.Error: The script failed, or the frame is gone.
        """
        from playwright.async_api import Error

        async with self._one_at_a_time:
            held = self._registries.get(frame)
            if held is not None:
                try:
                    return await self._run(held, script, asked)
                except Error as error:
                    if not is_another_document(error):
                        raise
            held = self._registries[frame] = Held(frame, await frame.evaluate_handle(registry()))
            return await self._run(held, script, asked)

    async def _run(self, held: Held, script: str, asked: Any) -> Any:
        first = self._next
        result, self._next = await held.registry.evaluate(
            f"async (refs, [asked, first, kept]) => {{ refs.begin(first, kept);"
            f" const done = await ({script})(refs, asked); return [done, refs.next]; }}",
            [asked, first, held.kept],
        )
        held.kept = self._next
        if self._next > first:
            self._starts.append(first)
            self._held.append(held)
        return result

    async def document(self, frame: Any) -> Any:
        """Return a handle of the document in a frame: another one for each document.

        Raises:
            playwright.async_api.Error: It is giving way to another one.
        """
        await self.ask(frame, "() => 0")
        return self._registries[frame].registry

    async def on(self, held: Held, script: str, asked: Any = None) -> Any:
        """Run `script` in the frame that holds a node and return its result.

        Raises:
            NoSuchTargetError: Its document is no longer there.
        """
        from playwright.async_api import Error

        async with self._one_at_a_time:
            try:
                return await self._run(held, script, asked)
            except Error as error:
                if not is_another_document(error):
                    raise
                raise NoSuchTargetError("the page has been left; look again") from error

    async def placed(self, frame: Any) -> Placed | None:
        """Return where a frame is in its page; None if it is not shown."""
        if frame.parent_frame is None:
            return Placed(0, 0, 1, 0)
        outer = await self.placed(frame.parent_frame)
        if outer is None:
            return None
        element = await frame.frame_element()
        found = await self.ask(frame.parent_frame, script("frame"), element)
        if found is None:
            return None
        x, y, scale, holder = found
        return Placed(
            outer.x + outer.scale * x, outer.y + outer.scale * y, outer.scale * scale, holder
        )

    def held(self, name: str) -> tuple[int, Held]:
        """Return the number that an agent means by "12" or "ref_12", and where its node is looked up.

        Raises:
            NoSuchTargetError: Nothing has been named so.
        """
        found = _NAME.fullmatch(name)
        place = bisect_right(self._starts, int(found[1])) - 1 if found else -1
        if found is None or place < 0 or int(found[1]) >= self._next:
            raise NoSuchTargetError(
                f"there is no element {name!r}: use the ids that you were shown"
            )
        return int(found[1]), self._held[place]


def is_another_document(error: Exception) -> bool:
    """Whether Playwright's error says that the document that was asked is no longer there."""
    return any(word in str(error) for word in ("context", "JSHandle", "navigat", "detached"))
