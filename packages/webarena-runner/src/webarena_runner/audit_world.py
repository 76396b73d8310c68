"""The stand-in sites for `webarena-runner audit`, with honest agents on all their tasks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bench_core.agents.plugins import ScriptedPlugin
from bench_core.audit import AuditWorld, HonestAgent
from bench_core.browser import ExploitAgent
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.world.launch import built_in_world, environment_of
from webarena_runner.world.scripts import demo_task_ids, scripted_task_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.audit import Exploit

__all__ = ["audit_world"]


@contextmanager
def audit_world(*, every_task: bool = False) -> Iterator[AuditWorld]:
    """Start the sites for the time of the block.

    With `every_task` honest agents work on all tasks of the sites, else on those of the demo.
    """
    with built_in_world() as world:
        port = urlsplit(world.control_url).port
        # what an agent can find by itself: the port, not the token
        values = {
            "control": f"http://127.0.0.1:{port}",
            "control_localhost": f"http://2130706433:{port}",
        }

        def make(exploit: Exploit) -> ExploitAgent:
            return ExploitAgent(exploit, values)

        ids = scripted_task_ids() if every_task else demo_task_ids()
        honest = HonestAgent("scripted", tuple(map(str, ids)), lambda _: ScriptedPlugin())
        yield AuditWorld(WebArenaBenchmark(environment_of(world)), make, (honest,))
