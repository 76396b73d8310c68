"""The pages of a trial as agents of the run's own process see them and act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.agents import BrowserEnvironment

if TYPE_CHECKING:
    from bench_core.browser import TrialBrowser


class AppBrowser(BrowserEnvironment):
    """The pages of a trial for agents of this process; `browser` is the browser context they are in."""

    def __init__(self, browser: TrialBrowser, viewport: tuple[int, int]) -> None:
        super().__init__(browser.context, viewport)
        self.browser = browser
