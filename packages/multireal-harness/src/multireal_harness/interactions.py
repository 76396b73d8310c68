"""Records input to the pages of a trial: clicks, keys, typed text.

The recording script runs in its own isolated world, so each page's scripts can neither see nor stop
it. Events that a script makes count, too: many honest agents click by script.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TYPED = 20_000
"""Characters of a field that are recorded."""

_KINDS = ("click", "dblclick", "contextmenu", "keydown", "input", "change", "submit", "drop")
_RECORD = Path(__file__).parent / "scripts" / "record.js"
_PREFIX = "w"
_MOST = 2_000


@dataclass
class Interactions:
    """Input to an app's pages.

    Attributes:
        trusted: Events that the browser made of input.
        scripted: Events that a script made.
        pressed: How often a button was pressed, by its text, if that is recorded.
        typed: Contents of fields, in order, if recorded.
    """

    trusted: int = 0
    scripted: int = 0
    pressed: Counter[str] = field(default_factory=Counter)
    typed: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of events."""
        return self.trusted + self.scripted

    def add(self, event: dict[str, Any]) -> None:
        """Add one event, as the script reports it."""
        if event.get("trusted") is True:
            self.trusted += 1
        else:
            self.scripted += 1
        label, name, value = (event.get(each) for each in ("label", "name", "value"))
        if isinstance(label, str) and (label in self.pressed or len(self.pressed) < _MOST):
            self.pressed[label] += 1
        if not isinstance(name, str) or not isinstance(value, str):
            return
        if name not in self.typed and len(self.typed) >= _MOST:
            return
        held = self.typed.setdefault(name, [])
        # each key gives the whole text again
        if held and value.startswith(held[-1]):
            held[-1] = value
        elif len(held) < _MOST:
            held.append(value)


class InteractionWatch:
    """Records the interactions with the pages of one browser context.

    Args:
        origins: The apps'.

    Attributes:
        forged: The number of reports from elsewhere than the recording script; they are not counted.
    """

    def __init__(self, origins: Iterable[str]) -> None:
        self.forged = 0
        self._done = {origin: Interactions() for origin in origins}
        # no page can guess them, and no two trials of a browser share them
        self._world, self._binding = (f"{_PREFIX}{secrets.token_hex(8)}" for _ in range(2))
        self._detailed: tuple[str, ...] = ()

    async def install(self, context: Any, *, detailed: Iterable[str] = ()) -> None:
        """Attach to all pages of a context, and to those that are opened later.

        Args:
            context: Playwright's.
            detailed: The origins of which buttons and typed text are recorded, too.
        """
        self._detailed = tuple(detailed)
        context.on("page", self._attach)
        await asyncio.gather(*(self._attach(page) for page in context.pages))

    def of(self, origin: str) -> Interactions:
        """Return the input to the pages of an app."""
        return self._done.get(origin, Interactions())

    async def _attach(self, page: Any) -> None:
        from playwright.async_api import Error

        code = _RECORD.read_text(encoding="utf-8").replace("PREFIX", _PREFIX)
        filled = {"DETAILED": self._detailed, "KINDS": _KINDS, "TYPED": TYPED}
        for name, value in filled.items():
            code = code.replace(name, json.dumps(value))
        bound = {"name": self._binding, "executionContextName": self._world}
        script = {"source": code, "worldName": self._world, "runImmediately": True}
        with contextlib.suppress(Error):  # the page was closed meanwhile
            session = await page.context.new_cdp_session(page)
            # Take the reports of one page, from the contexts of the recording script
            own: set[int] = set()

            def created(message: Any) -> None:
                if message["context"]["name"] == self._world:
                    own.add(message["context"]["id"])

            session.on("Runtime.executionContextCreated", created)
            # another process of the page begins to count its contexts again
            session.on("Runtime.executionContextsCleared", lambda _: own.clear())
            session.on(
                "Runtime.executionContextDestroyed",
                lambda message: own.discard(message["executionContextId"]),
            )
            session.on("Runtime.bindingCalled", lambda message: self._note(message, own))
            await session.send("Runtime.enable")
            await session.send("Runtime.addBinding", bound)
            await session.send("Page.enable")
            await session.send("Page.addScriptToEvaluateOnNewDocument", script)

    def _note(self, message: Any, own: Collection[int]) -> None:
        if message.get("name") != self._binding:
            return
        if message.get("executionContextId") not in own:
            # any script that finds the binding may call it
            self.forged += 1
            return
        with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError):
            event = json.loads(message["payload"])
            self._done[event["origin"]].add(event)
