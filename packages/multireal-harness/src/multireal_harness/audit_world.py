"""The built-in apps for `multireal-harness audit`, with honest agents on all their tasks."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

from bench_core.audit import AuditWorld, HonestAgent
from bench_core.browser import ExploitAgent
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.states.capture import CaptureSettings
from multireal_harness.tasks import load_tasks
from multireal_harness.world import load_solutions
from multireal_harness.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.audit import Exploit
    from multireal_harness.world import Solution

__all__ = ["audit_world"]

# what an exploit spoils stays as it is: two tries show it as well as those of 90 s
_CAPTURE = CaptureSettings(app_s=12.0, try_s=30.0, quiet_s=1.0)


@contextmanager
def audit_world(*, checked: bool = True) -> Iterator[AuditWorld]:
    """Serve the apps for the time of the block.

    Args:
        checked: Whether agents' acts and end states are checked; without it only tests show what that
            is for.
    """
    with built_in_world() as world:
        folder = resources.files("multireal_harness.world")
        values = {
            **world.urls,
            "tasks": str(folder.joinpath("tasks")),
            "solutions": str(folder.joinpath("solutions")),
        }

        def make(exploit: Exploit) -> ExploitAgent:
            return ExploitAgent(exploit, values)

        benchmark = MultiRealBenchmark(
            load_tasks("built-in"),
            origins=world.urls,
            browsers=Browsers(guarded=checked),
            settings=replace(EnvironmentSettings(), capture=_CAPTURE, cross_checks=checked),
        )
        yield AuditWorld(benchmark, make, tuple(_honest()), time_limit_s=240.0)


def _honest() -> Iterator[HonestAgent]:
    """Yield an agent for each name of a solution, on the tasks that have one of it."""
    named: dict[tuple[str, bool], dict[str, Solution]] = defaultdict(dict)
    for each in load_solutions():
        named[each.name, each.passes][f"multi.{each.task}"] = each
    for (name, passes), solutions in named.items():
        yield HonestAgent(
            name=f"scripted {name}",
            tasks=tuple(solutions),
            make=lambda task, solutions=solutions: ScriptedAgent(solutions[task]),  # type: ignore[misc]
            succeeds=passes,
        )
