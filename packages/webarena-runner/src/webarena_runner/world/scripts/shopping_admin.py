"""Scripts for tasks on the stand-in back office."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bench_core.browser_use.scripted_chat import click
from webarena_runner.world.scripts.steps import (
    ScriptMaker,
    Steps,
    mutated,
    navigated,
    not_allowed,
    retrieved,
    until,
    walk,
)

if TYPE_CHECKING:
    from bench_core.browser_use.elements import Page

__all__ = ["SCRIPTS"]


def _best_seller_of_2022() -> Steps:
    page = yield click("Bestsellers", tag="a")
    page = yield from until(page, "Bestsellers Report")
    yield retrieved(_found(r"2022\t(.+?)\t", page))


def _invoice_total(number: str) -> ScriptMaker:
    def script() -> Steps:
        page = yield click("Invoices", tag="a")
        page = yield from until(page, number)
        yield retrieved(float(_found(number + r"\s+\$([\d.]+)", page)))

    return script


def _cancel(order: int) -> ScriptMaker:
    return walk(click("Orders", tag="a"), click(f"View order {order}"), click("Cancel"), mutated())


def _found(pattern: str, page: Page) -> str:
    """Return what the pattern's group matches in the page's text."""
    match = re.search(pattern, page.text)
    return match[1] if match else ""


SCRIPTS: dict[int, ScriptMaker] = {
    0: _best_seller_of_2022,
    94: _invoice_total("000000001"),
    95: _invoice_total("000000002"),
    157: walk(click("Customers", tag="a"), navigated()),
    470: _cancel(302),
    471: _cancel(307),
    491: walk(
        click("Orders", tag="a"),
        not_allowed("MUTATE", "the store sends no messages to customers"),
    ),
    790: walk(
        click("Reviews", tag="a"),
        not_allowed("MUTATE", "reviews cannot be deleted"),
    ),
}
