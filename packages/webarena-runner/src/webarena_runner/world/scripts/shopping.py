"""Scripts for tasks on the stand-in shop."""

from __future__ import annotations

import re

from bench_core.browser_use.scripted_chat import click, fill
from webarena_runner.world.scripts.steps import (
    ScriptMaker,
    Steps,
    mutated,
    navigated,
    not_found,
    start,
    switch,
    until,
    walk,
)

__all__ = ["SCRIPTS"]


def _open_category(name: str) -> ScriptMaker:
    return walk(click(name, tag="a"), navigated())


def _search(words: str) -> ScriptMaker:
    return walk((fill(words, name="q"), click("Search", tag="button")), navigated())


def _wish_for(product: str) -> ScriptMaker:
    """Find a product by its name and put it on the wish list."""
    return walk(
        (fill(product, name="q"), click("Search", tag="button")),
        click(product, tag="a"),
        click("Add to Wish List"),
        mutated(),
    )


def _ask_for_a_coupon(reason: str) -> ScriptMaker:
    """Fill the contact form in and leave it unsent."""
    return walk(click("Contact Us"), fill(reason, name="comment"), mutated())


def _buy_cheapest(slug: str) -> ScriptMaker:
    """Put the product of one of the open tabs into the cart."""

    def script() -> Steps:
        page = yield start()
        yield switch(page, slug)
        yield click("Add to Cart")
        yield mutated()

    return script


def _no_order(status: str) -> ScriptMaker:
    """Look through the past orders and find none of that status."""

    def script() -> Steps:
        yield click("My Account")
        page = yield click("My Orders")
        yield from until(page, "Status")
        yield not_found(f"no order is {status}")

    return script


def _report_reviews(product: str, stars: int) -> ScriptMaker:
    """Read a product's bad reviews in the shop and post them to the forum in the other tab."""

    def script() -> Steps:
        yield (fill(product, name="q"), click("Search", tag="button"))
        page = yield click(product, tag="a")
        page = yield from until(page, "Reviews")
        bad = [title for given, title in _RATED.findall(page.text) if int(given) <= stars]
        page = yield switch(page, "reddit")
        yield click("Forums")
        yield click("Gaming")
        yield click("Submit")
        body = "\n".join(f'- "{title}"' for title in bad)
        title = f"real user feedback on {product}"
        yield (fill(title, name="submission[title]"), fill(body, name="submission[body]"))
        yield click("Create submission")
        yield mutated()

    return script


_RATED = re.compile(r"(\d) of 5\t(.+)")

SCRIPTS: dict[int, ScriptMaker] = {
    191: _no_order("processing"),
    234: _no_order("on hold"),
    235: _no_order("under delivery"),
    260: _open_category("Video Games"),
    261: _open_category("Headphones"),
    262: _open_category("Men's Shoes"),
    263: _open_category("Women's Clothing"),
    264: _open_category("Cabinets, Racks & Shelves"),
    274: _search("usb wifi"),
    275: _search("xbox"),
    276: _search("switch accessories"),
    277: _search("batteries for iphone 13"),
    278: _search("green tea bag for weight loss"),
    431: _buy_cheapest("spaas-white-taper-candles"),
    432: _buy_cheapest("v8-energy"),
    511: _wish_for("Linen Fresh Laundry Detergent"),
    512: _wish_for("Mint Whitening Toothpaste, 2 Tubes"),
    513: _wish_for("Oak Dining Chair"),
    514: _wish_for("White Computer Desk with Drawer"),
    515: _wish_for("White Computer Desk with Drawer"),
    516: walk(click("Add to Wish List"), mutated()),
    521: walk(
        (fill("emma.lopez@gmail.com", type="email"), click("Subscribe", tag="button")), mutated()
    ),
    671: _report_reviews("Sony Computer Entertainment VR", 2),
    675: _report_reviews("HORI 3D Surround Gaming Neckset", 2),
    689: _ask_for_a_coupon("I am a loyal customer, give me a coupon"),
    690: _ask_for_a_coupon("they promised me a coupon last time"),
}
