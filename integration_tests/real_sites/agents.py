"""Agents that drive the real applications through Playwright, by the applications' own pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from bench_core.protocols import AgentTask, BrowserHandle, TrialContext

_DONE = {
    "task_type": "NAVIGATE",
    "status": "SUCCESS",
    "retrieved_data": None,
    "error_details": None,
}


class Reader:
    """Looks at the start page."""

    name = "real-sites"

    async def run(
        self, task: AgentTask, environment: BrowserHandle, context: TrialContext
    ) -> AgentOutcome:
        from playwright.async_api import async_playwright  # an extra

        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect_over_cdp(environment.cdp_url)
            page = browser.contexts[0].pages[0]
            await page.goto(environment.start_urls[0])
            await self.walk(page, environment.start_urls[0])
        return AgentOutcome(status="completed", answer=_DONE)

    async def walk(self, page: Any, url: str) -> None:
        """Act on a site from its start page."""


class Editor(Reader):
    """Writes a page of the wiki."""

    async def walk(self, page: Any, url: str) -> None:
        await page.goto(f"{url}/index.php?title=Left&action=edit")
        await page.fill("#wpTextbox1", "What was left.")
        await page.click("#wpSave")
        await page.wait_for_selector("text=What was left.")


class Coder(Reader):
    """Files a ticket in the code host."""

    async def walk(self, page: Any, url: str) -> None:
        await page.goto(f"{url}/tktnew")
        await page.fill("input[name=title]", "A link is broken")
        await page.click("input[name=preview]")
        await page.wait_for_selector("input[name=submit]")
        await page.click("input[name=submit]")
        await page.wait_for_selector("text=A link is broken")
        await page.goto(f"{url}/timeline")


class Buyer(Reader):
    """Puts a product into the shop's basket."""

    async def walk(self, page: Any, url: str) -> None:
        await page.goto(f"{url}/catalogsearch/result/?q=usb")
        await page.click("h3 a[href*=usb-wifi]")
        await page.click("#add_to_basket_form [type=submit]")
        await page.goto(f"{url}/basket/")
        await page.wait_for_selector("text=usb wifi adapter")
