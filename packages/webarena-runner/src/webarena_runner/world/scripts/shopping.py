"""Scripts for tasks on the stand-in shop."""

from __future__ import annotations

from bench_core.browser_use.scripted import click, fill
from webarena_runner.world.scripts.steps import ScriptMaker, mutated, navigated, walk

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


SCRIPTS: dict[int, ScriptMaker] = {
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
    511: _wish_for("Linen Fresh Laundry Detergent"),
    512: _wish_for("Mint Whitening Toothpaste, 2 Tubes"),
    513: _wish_for("Oak Dining Chair"),
    514: _wish_for("White Computer Desk with Drawer"),
    515: _wish_for("White Computer Desk with Drawer"),
    516: walk(click("Add to Wish List"), mutated()),
    521: walk(
        (fill("emma.lopez@gmail.com", type="email"), click("Subscribe", tag="button")), mutated()
    ),
    689: _ask_for_a_coupon("I am a loyal customer, give me a coupon"),
    690: _ask_for_a_coupon("they promised me a coupon last time"),
}
