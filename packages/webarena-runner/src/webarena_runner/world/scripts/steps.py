"""Steps that scripts of several sites share."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from bench_core.browser_use.scripted_chat import act, answer

if TYPE_CHECKING:
    from bench_core.browser_use.elements import Page
    from bench_core.browser_use.scripted_chat import Action, Script, Turn

__all__ = [
    "ScriptMaker",
    "Steps",
    "mutated",
    "navigated",
    "not_allowed",
    "not_found",
    "retrieved",
    "start",
    "switch",
    "until",
    "walk",
]

ScriptMaker = Callable[[], "Script"]
"""A factory of scripts, because a script can be played only once."""

Steps = Generator["Turn", "Page", None]
"""A script that reads the page before each step."""


def navigated() -> Action:
    """Declare that the requested page is open."""
    return answer({"task_type": "NAVIGATE", "status": "SUCCESS"})


def mutated() -> Action:
    """Declare that the requested change is made."""
    return answer({"task_type": "MUTATE", "status": "SUCCESS"})


def retrieved(*found: Any) -> Action:
    """Declare the requested data."""
    return answer({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": list(found)})


def not_allowed(task_type: str, why: str) -> Action:
    """Declare that the site does not allow it."""
    return _refused("ACTION_NOT_ALLOWED_ERROR", task_type, why)


def not_found(why: str) -> Action:
    """Declare that the requested thing does not exist."""
    return _refused("NOT_FOUND_ERROR", "RETRIEVE", why)


def _refused(status: str, task_type: str, why: str) -> Action:
    """End without success."""
    return answer({"task_type": task_type, "status": status, "error_details": why})


def start() -> Action:
    """Do nothing, to read the page before the first real turn."""
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
