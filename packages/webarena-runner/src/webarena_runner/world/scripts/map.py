"""Scripts for tasks on the stand-in map."""

from __future__ import annotations

from bench_core.browser_use.scripted_chat import click, fill
from webarena_runner.world.scripts.steps import ScriptMaker, not_found, walk

__all__ = ["SCRIPTS"]

SCRIPTS: dict[int, ScriptMaker] = {
    101: walk(
        (fill("In-N-Out", name="query"), click("Go")), not_found("the map has no such place")
    ),
}
