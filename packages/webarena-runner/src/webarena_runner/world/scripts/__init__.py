"""Scripts that complete the tasks of the built-in world, by task id.

A script is written for the pages of the stand-in sites. It replaces an agent that does the task right, so
that all parts around the agent can be tested. Those that take the same turns each time are in
`scripts.json`; those that depend on a page's content are here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from functools import partial
from importlib import resources
from typing import Any

from bench_core.browser_use.elements import Page
from bench_core.browser_use.scripted_chat import Action, Script, Turn, act, answer, click, fill
from bench_core.errors import UnknownTaskError

__all__ = ["demo_task_ids", "script_for", "scripted_task_ids"]

Steps = Generator["Turn", "Page", None]
"""A script that reads the page before each step."""


def demo_task_ids() -> tuple[int, ...]:
    """Return the ids of selected tasks, which use every site, type and kind of request once."""
    return tuple(_stored()["demo"])


def scripted_task_ids() -> tuple[int, ...]:
    """Return the ids of the tasks that have a script, in order."""
    return tuple(sorted({*map(int, _stored()["walks"]), *_READERS}))


def script_for(task_id: int | str) -> Script:
    """Return a fresh script for a task.

    Raises:
        UnknownTaskError: The built-in world has no script for it.
    """
    walks, number = _stored()["walks"], int(task_id) if str(task_id).isdecimal() else -1
    if str(number) in walks:
        turns = walks[str(number)]
        return iter([tuple(map(_action, t)) if isinstance(t, list) else _action(t) for t in turns])
    if number not in _READERS:
        raise UnknownTaskError("the built-in world", str(task_id))
    return _READERS[number]()


def _stored() -> dict[str, Any]:
    file = resources.files(__package__).joinpath("scripts.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _action(step: dict[str, Any]) -> Action:
    """Return a click, a text for a field, or the declaration that ends the task."""
    target = {**step}
    if "click" in step:
        return click(target.pop("click"), **target)
    return fill(target.pop("fill"), **target) if "fill" in step else answer(step)


def _until(page: Page, text: str) -> Generator[Turn, Page, Page]:
    """Wait until the page shows `text` and return it."""
    while text not in page.text:
        page = yield act("wait", seconds=1)
    return page


def _retrieved(found: Any) -> Action:
    return answer({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [found]})


def _found(pattern: str, page: Page) -> str:
    """Return the match of the pattern's group in the page's text."""
    match = re.search(pattern, page.text)
    return match[1] if match else ""


def _best_seller_of_2022() -> Steps:
    page = yield click("Bestsellers", tag="a")
    page = yield from _until(page, "Bestsellers Report")
    yield _retrieved(_found(r"2022\t(.+?)\t", page))


def _invoice_total(number: str) -> Steps:
    page = yield click("Invoices", tag="a")
    page = yield from _until(page, number)
    yield _retrieved(float(_found(number + r"\s+\$([\d.]+)", page)))


def _count_commits(author: str, day: str) -> Steps:
    """Count the lines of the list of commits that have the author and the day."""
    project = "a11yproject/a11yproject.com"
    yield click(project)
    page = yield click("Commits")
    page = yield from _until(page, f"Commits of {project}")
    lines = [each.lower() for each in page.text.splitlines()]
    yield _retrieved(sum(author.lower() in line and day.lower() in line for line in lines))


def _no_order(status: str) -> Steps:
    """Look through the past orders and find none of that status."""
    yield click("My Account")
    page = yield click("My Orders")
    yield from _until(page, "Status")
    why = f"no order is {status}"
    yield answer({"task_type": "RETRIEVE", "status": "NOT_FOUND_ERROR", "error_details": why})


def _buy_cheapest(slug: str) -> Steps:
    """Put the product of one of the open tabs into the cart, once the first page is read."""
    page = yield act("wait", seconds=1)
    yield act("switch", tab_id=page.tab(slug))
    yield click("Add to Cart")
    yield _MUTATED


def _report_reviews(product: str) -> Steps:
    """Read a product's bad reviews in the shop and post them to the forum in the other tab."""
    yield (fill(product, name="q"), click("Search", tag="button"))
    page = yield click(product, tag="a")
    page = yield from _until(page, "Reviews")
    bad = re.findall(r"[12] of 5\t(.+)", page.text)
    yield act("switch", tab_id=page.tab("reddit"))
    yield click("Forums")
    yield click("Gaming")
    yield click("Submit")
    body = "\n".join(f'- "{title}"' for title in bad)
    title = f"real user feedback on {product}"
    yield (fill(title, name="submission[title]"), fill(body, name="submission[body]"))
    yield click("Create submission")
    yield _MUTATED


_MUTATED = answer({"task_type": "MUTATE", "status": "SUCCESS"})
_READERS: dict[int, Callable[[], Steps]] = {
    0: _best_seller_of_2022,
    94: partial(_invoice_total, "000000001"),
    95: partial(_invoice_total, "000000002"),
    132: partial(_count_commits, "kilian", "Mar 5, 2023"),
    133: partial(_count_commits, "Eric", "Mar 2, 2023"),
    134: partial(_count_commits, "kilian", "Mar 1, 2023"),
    191: partial(_no_order, "processing"),
    234: partial(_no_order, "on hold"),
    235: partial(_no_order, "under delivery"),
    431: partial(_buy_cheapest, "spaas-white-taper-candles"),
    432: partial(_buy_cheapest, "v8-energy"),
    671: partial(_report_reviews, "Sony Computer Entertainment VR"),
    675: partial(_report_reviews, "HORI 3D Surround Gaming Neckset"),
}
