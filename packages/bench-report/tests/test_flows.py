"""Each way through the page, with keys alone and with a mouse, on a desk and on a phone, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Built, Visits
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

WINDOWS = [(width, scheme) for width in (1280, 1920, 390) for scheme in ("light", "dark")]
MOST_TABS = 400
EXAMPLE = "#failures .clusters td:last-child a"
CHANGED = "#failures details[open] .links a"


class Hand(Protocol):
    """What a reader does, by keys or by mouse."""

    def use(self, selector: str) -> None: ...
    def step(self, key: str, button: str) -> None: ...


class Mouse:
    def __init__(self, page: Page) -> None:
        self.page = page

    def use(self, selector: str) -> None:
        self.page.locator(selector).first.click()

    def step(self, key: str, button: str) -> None:
        del key
        self.page.locator(button).first.click()


class Keys:
    def __init__(self, page: Page) -> None:
        self.page = page

    def use(self, selector: str) -> None:
        """Go on by Tab until the element has the focus, and press Enter."""
        first = self.page.locator(selector).first
        for _ in range(MOST_TABS):
            if first.evaluate("each => each === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        else:
            pytest.fail(f"{selector} is not reached by Tab")
        self.page.keyboard.press("Enter")

    def step(self, key: str, button: str) -> None:
        del button
        self.page.keyboard.press(key)


def now_at(page: Page, step: int) -> None:
    page.wait_for_selector(f".step-side .step-head:has-text('Step {step} of')")


def closed(page: Page, hand: Hand) -> None:
    hand.step("Escape", "dialog .close")
    page.wait_for_selector("dialog", state="hidden")


def details(page: Page, hand: Hand) -> None:
    hand.use("#result .reading-details > summary")
    assert page.is_visible("#result .reading-details ul")


def failure_to_step(page: Page, hand: Hand) -> None:
    hand.use(EXAMPLE)
    page.wait_for_selector("dialog[open] .viewer")
    now_at(page, 1)
    hand.step("ArrowRight", "[aria-label^='Step on']")
    now_at(page, 2)
    hand.step("End", "[aria-label^='Last step']")
    now_at(page, 5)
    hand.step("Home", "[aria-label^='First step']")
    now_at(page, 1)
    hand.step("b", "[data-sight=before]")
    assert page.locator(".pictures figcaption strong").all_inner_texts() == ["Before"]
    hand.step("+", "[aria-label^='Larger']")
    assert page.eval_on_selector(".picture", "frame => frame.style.width") == "150%"
    hand.step("j", "[aria-label^='Next trial']")
    page.wait_for_selector("dialog .dialog-bar:has-text('trial 2')")
    closed(page, hand)


def change_to_difference(page: Page, hand: Hand) -> None:
    hand.use(CHANGED)
    page.wait_for_selector(".side-by-side .pair-list [aria-current].first")
    hand.step("n", ".jump:has-text('Next')")
    page.wait_for_selector(".pair-list [aria-current]:not(.first)")
    hand.step("d", ".jump:has-text('First')")
    page.wait_for_selector(".pair-list [aria-current].first")
    hand.step("c", "dialog .link:has-text('one trial')")
    page.wait_for_selector("dialog .viewer")
    closed(page, hand)


def table_to_trial(page: Page, hand: Hand) -> None:
    hand.use("[data-view=trials]")
    page.wait_for_selector("#shown:text-is('32 trials')")
    hand.use("[data-outcome=fail]")
    page.wait_for_selector("#shown:text-is('8 of 32 trials')")
    hand.use("#grid tbody tr[data-index='0']")
    page.wait_for_selector("dialog[open] .viewer")
    closed(page, hand)


def slice_to_tasks(page: Page, hand: Hand) -> None:
    hand.use("#slices table.slices th a")
    page.wait_for_url(lambda url: "in.site=shop" in url)
    page.wait_for_selector("#clear:not([hidden])")


def copy_a_table(page: Page, hand: Hand) -> None:
    hand.use("#differences .copies .copy:has-text('CSV')")
    page.wait_for_selector("#differences .copies [role=status]:text-is('copied as CSV')")


def theme(page: Page, hand: Hand) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    hand.use("#theme")
    assert page.evaluate(paper) != before
    hand.use("#theme")


FLOWS: list[Callable[[Page, Hand], None]] = [
    theme, details, copy_a_table, failure_to_step, change_to_difference, slice_to_tasks, table_to_trial,
]  # fmt: skip


@pytest.mark.parametrize(
    ("hand", "width", "scheme"),
    [
        (Keys, 1280, "light"), (Mouse, 1280, "dark"), (Keys, 1920, "dark"), (Mouse, 1920, "light"),
        (Keys, 390, "dark"), (Mouse, 390, "light"),
    ],
)  # fmt: skip
def test_each_flow_is_walked(
    hand: Callable[[Page], Hand], width: int, scheme: str, shop: Built, visit: Visits
) -> None:
    window = visit(width=width, scheme=scheme)
    page = window.open(shop)

    for flow in FLOWS:
        flow(page, hand(page))

    assert window.complaints == []
    assert window.overflow() == 0


def search(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("lamp 5")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] .viewer .step-head")


def pair(page: Page) -> None:
    page.keyboard.press("c")
    page.wait_for_selector(".side-by-side .step-head")


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_axe_finds_nothing_serious_in_any_view(
    width: int, scheme: str, shop: Built, visit: Visits
) -> None:
    from axe_playwright_python.sync_playwright import Axe  # as Chromium

    page = visit(width=width, scheme=scheme).open(shop)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for reach in (lambda _: None, search, pair):
        reach(page)
        page.wait_for_load_state("networkidle")

        found = Axe().run(page)

        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate(
            "(d => d ? d.scrollWidth - d.clientWidth : 0)(document.querySelector('dialog[open]'))"
        )
        assert wide == 0
