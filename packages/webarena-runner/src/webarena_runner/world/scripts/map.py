"""Scripts for tasks on the stand-in map."""

from __future__ import annotations

from bench_core.browser_use.scripted import answer, click, fill
from webarena_runner.world.scripts.steps import ScriptMaker, walk

__all__ = ["SCRIPTS"]

_NOT_FOUND = {
    "task_type": "RETRIEVE",
    "status": "NOT_FOUND_ERROR",
    "error_details": "the map knows no such place",
}

SCRIPTS: dict[int, ScriptMaker] = {
    101: walk((fill("In-N-Out", name="query"), click("Go")), answer(_NOT_FOUND)),
}
