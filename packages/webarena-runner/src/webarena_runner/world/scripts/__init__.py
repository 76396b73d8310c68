"""For each task id the built-in world can complete, the script that completes it.

A script knows its way around the stand-in sites, as a test knows its fixture; it stands for an
agent that does the task right, so that everything around the agent can be proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import UnknownTaskError
from webarena_runner.world.scripts import gitlab, reddit, shopping, shopping_admin
from webarena_runner.world.scripts import map as map_scripts

if TYPE_CHECKING:
    from bench_core.browser_use.scripted import Script
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
    689, 783, 790, 805, 807,
)  # fmt: skip


def demo_task_ids() -> tuple[int, ...]:
    """Return the ids of a choice of tasks that uses every site, type and kind of request once."""
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
