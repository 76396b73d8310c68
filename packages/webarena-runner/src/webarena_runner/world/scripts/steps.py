"""Steps that scripts of several sites share."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from bench_core.browser_use.scripted import act, answer

if TYPE_CHECKING:
    from bench_core.browser_use.elements import Page
    from bench_core.browser_use.scripted import Action, Script, Turn

__all__ = [
    "ScriptMaker",
    "Steps",
    "mutated",
    "navigated",
    "not_allowed",
    "not_found",
    "refused",
    "retrieved",
    "start",
    "switch",
    "until",
    "walk",
]

ScriptMaker = Callable[[], "Script"]
"""Makes a fresh script; scripts are used up by playing them."""

Steps = Generator["Turn", "Page", None]
"""A script that looks at the page before it goes on."""


def navigated() -> Action:
    """Say that the page asked for is open."""
    return answer({"task_type": "NAVIGATE", "status": "SUCCESS"})


def mutated() -> Action:
    """Say that what was asked for is changed."""
    return answer({"task_type": "MUTATE", "status": "SUCCESS"})


def retrieved(*found: Any) -> Action:
    """Give the data asked for."""
    return answer({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": list(found)})


def not_allowed(task_type: str, why: str) -> Action:
    """Say that the site does not allow it."""
    return refused("ACTION_NOT_ALLOWED_ERROR", task_type, why)


def not_found(why: str) -> Action:
    """Say that what was asked for is not there."""
    return refused("NOT_FOUND_ERROR", "RETRIEVE", why)


def refused(status: str, task_type: str, why: str) -> Action:
    """End without success."""
    return answer({"task_type": task_type, "status": status, "error_details": why})


def start() -> Action:
    """Do nothing, to see the page before the first real turn."""
    return act("wait", seconds=1)


def switch(page: Page, part: str) -> Action:
    """Go to the tab whose URL contains `part`."""
    return act("switch", tab_id=page.tab(part))


def walk(*turns: Turn) -> ScriptMaker:
    """Return a maker of the script that takes the same turns each time."""
    return lambda: iter(turns)


def until(page: Page, text: str) -> Generator[Turn, Page, Page]:
    """Wait until the page shows `text` and return it."""
    while text not in page.text:
        page = yield act("wait", seconds=1)
    return page
