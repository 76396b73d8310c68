"""A trial's page settings and browser: a context of the shared Chromium, or its own Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench_core.browser import (
    ChromiumOptions,
    Places,
    SharedBrowser,
    TrialBrowser,
    open_own_browser,
)
from bench_core.records import IntegrityCode
from multireal_harness.guard import is_guarded

__all__ = ["BrowserSettings", "Browsers"]


@dataclass(frozen=True)
class BrowserSettings:
    """Time zone, language and size that every trial's pages get, pinned so that runs compare.

    Attributes:
        timezone: Apps show and store local times; the recorded states have Denver's.
        chromium: How Chromium is started; its time zone, language and window are set from here.
    """

    headless: bool = True
    viewport: tuple[int, int] = (1280, 720)
    locale: str = "en-US"
    timezone: str = "America/Denver"
    chromium: ChromiumOptions = field(default_factory=ChromiumOptions)

    def options(self) -> ChromiumOptions:
        """Return how Chromium is started."""
        return replace(
            self.chromium,
            headless=self.headless,
            window=self.viewport,
            language=self.locale,
            timezone=self.timezone,
        )

    def public(self) -> dict[str, Any]:
        """Return the settings that are recorded with a run."""
        return {
            "viewport": list(self.viewport),
            "locale": self.locale,
            "timezone": self.timezone,
            "headless": self.headless,
        }


class Browsers:
    """Opens browser contexts for trials; the shared Chromium runs as long as the event loop.

    Args:
        settings: Time zone, language and size of pages.
        guarded: Whether agents' acts are checked and their connections cut; False only for tests that show
            the purpose of the checks.
    """

    def __init__(self, settings: BrowserSettings | None = None, *, guarded: bool = True) -> None:
        self.settings = settings or BrowserSettings()
        self._guarded = guarded
        self._shared = SharedBrowser()

    def open_context(
        self,
        found: Callable[[IntegrityCode, bool, str], None] = lambda *_: None,
        *,
        alone: bool = False,
        origins: Iterable[str] = (),
        hidden: tuple[Path, ...] = (),
    ) -> AbstractAsyncContextManager[TrialBrowser]:
        """Open a fresh context for the time of the block.

        Args:
            found: Called with an integrity code, whether the act was refused, and its URL.
            alone: In a Chromium of its own.
            origins: The apps', whose guarded paths are then refused in all of it, once it is armed.
            hidden: Files that its Chromium must not read.

        Raises:
            BrowserError: Chromium is missing, did not start, or died.
        """
        options = replace(self.settings.options(), hidden=hidden)
        if alone:
            apps = tuple(origins)
            places = Places({}, apps, is_guarded, apps) if self._guarded else None
            return open_own_browser(options, found, places, attached=True)
        width, height = self.settings.viewport
        return self._shared.open(
            options,
            found,
            viewport={"width": width, "height": height},
            locale=self.settings.locale,
            timezone_id=self.settings.timezone,
            service_workers="block",  # a worker would answer requests past the guard
        )

    async def close(self) -> None:
        """End the shared Chromium; the next trial starts another."""
        await self._shared.close()
