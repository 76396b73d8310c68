"""Scripts that complete the tasks of the built-in world, by task id.

A script is written for the pages of the stand-in sites. It replaces an agent that does the task right, so
that all parts around the agent can be tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import UnknownTaskError
from webarena_runner.world.scripts import gitlab, reddit, shopping, shopping_admin
from webarena_runner.world.scripts import map as map_scripts

if TYPE_CHECKING:
    from bench_core.browser_use.scripted_chat import Script
    from webarena_runner.world.scripts.steps import ScriptMaker

__all__ = ["demo_task_ids", "script_for", "scripted_task_ids"]

_SCRIPTS: dict[int, ScriptMaker] = {
    **shopping.SCRIPTS,
    **shopping_admin.SCRIPTS,
    **reddit.SCRIPTS,
    **gitlab.SCRIPTS,
    **map_scripts.SCRIPTS,
}


_DEMO = (
    0, 44, 45, 101, 132, 156, 157, 260, 274, 399, 404, 418, 432, 448, 470, 491, 512, 523, 595, 671,
    689, 790, 805, 807,
)  # fmt: skip


def demo_task_ids() -> tuple[int, ...]:
    """Return the ids of selected tasks, which use every site, type and kind of request once."""
    return _DEMO


def scripted_task_ids() -> tuple[int, ...]:
    """Return the ids of the tasks that have a script, in order."""
    return tuple(sorted(_SCRIPTS))


def script_for(task_id: int | str) -> Script:
    """Return a fresh script for a task.

    Raises:
        UnknownTaskError: The built-in world has no script for it.
    """
    number = int(task_id) if str(task_id).isdecimal() else None
    if number not in _SCRIPTS:
        raise UnknownTaskError("the built-in world", str(task_id))
    return _SCRIPTS[number]()
