"""Trials in the built-in world by agents that do one thing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cdp_use.client import CDPClient

from bench_core.browser import websocket_url
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits
from bench_core.redaction import Redactor
from bench_core.trial import AgentLimits, run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.tasks import load_tasks
from webarena_runner.world.launch import Environment, environment_of

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import BrowserHandle
    from bench_core.records import AgentTask, TrialResult
    from webarena_runner.world import BuiltInWorld

KEY = "sk-planted-0123456789abcdef"
NAVIGATED = {"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None}
BIOGRAPHY, TODOS, PICTURES, SHOP_AND_FORUM = 399, 44, 615, 671


class Doer:
    """An agent that does one thing."""

    name = "doer"

    def __init__(self, deed: Any) -> None:
        self._deed = deed

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        outcome: AgentOutcome = await self._deed(task, environment, context)
        return outcome


async def attempt(
    world: BuiltInWorld,
    folder: Path,
    deed: Any,
    task_id: int = BIOGRAPHY,
    *,
    time_limit_s: float = 60.0,
    environment: Environment | None = None,
    settings: EnvironmentSettings | None = None,
) -> TrialResult:
    benchmark = WebArenaBenchmark(
        environment or environment_of(world),
        settings=settings or EnvironmentSettings(close_s=1.0),
        redactor=Redactor([KEY]),
    )
    context = TrialContext(
        run_id="r",
        folder=folder,
        agent="doer",
        world="built-in",
        limits=Limits(time_limit_s=time_limit_s),
    )
    patience = AgentLimits(overtime_s=0.2, stop_s=1.0)
    return await run_trial(
        benchmark,
        load_tasks()[task_id],
        context,
        Doer(deed),
        limits=patience,
        redactor=Redactor([KEY]),
    )


async def visit(browser: BrowserHandle, url: str) -> dict[str, Any]:
    """Navigate the first tab and return the browser's answer, without waiting for the page."""
    async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
        targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = await cdp.send_raw(
            "Target.attachToTarget", {"targetId": page["targetId"], "flatten": True}
        )
        return await cdp.send_raw("Page.navigate", {"url": url}, attached["sessionId"])


async def nothing(
    _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
) -> AgentOutcome:
    return AgentOutcome(answer=NAVIGATED)


def urls_in(folder: Path) -> list[str]:
    har = json.loads((folder / "network.har").read_text())
    return [entry["request"]["url"] for entry in har["log"]["entries"]]
