"""The dialogs of a browser that the harness and an agent are attached to."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

_HELD_S = 60.0


class HeldDialogs:
    """Leaves dialogs of a Playwright context to the agent while it works, and else answers them.

    Playwright dismisses a dialog that no one listens for, also where another program that is connected to the same
    Chromium is about to answer it. One that no agent has answered for a minute is answered with OK.
    """

    def __init__(self, context: Any) -> None:
        self._free = asyncio.Event()
        self._free.set()
        context.on("dialog", self._answer)

    def hold(self) -> None:
        """Leave dialogs to the agent."""
        self._free.clear()

    def release(self) -> None:
        """Answer those that are open, and all later ones."""
        self._free.set()

    async def _answer(self, dialog: Any) -> None:
        from playwright.async_api import Error

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._free.wait(), _HELD_S)
        with suppress(Error):  # answered, or closed with its page
            await dialog.accept(dialog.default_value)
