"""Sixty trials on four sites with two workers while sites, Chromium and the model server fail."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cdp_use.client import CDPClient
from test_support.model_server import Answer, ModelServer

from bench_core.browser import websocket_url
from bench_core.browser_use import AgentSettings, BrowserUseAgent, import_browser_use
from bench_core.records import AgentOutcome, Limits
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import AgentLimits
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.world.launch import built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.protocols import BrowserHandle, TrialContext
    from bench_core.records import AgentTask
    from webarena_runner.world import BuiltInWorld

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVERY = os.environ.get("WEBARENA_TASKS") == "all"
TRIALS = 12
TIME_LIMIT_S = 20.0
DOWN_S = 20.0
PAGES = {"260": "video-games.html", "157": "customer/index/", "44": "dashboard/todos"}
COUNT, BIOGRAPHY = "132", "399"
SITES = {"260": "shopping", "157": "shopping_admin", "44": "gitlab", BIOGRAPHY: "reddit"}
IDS = (*PAGES, BIOGRAPHY, COUNT)


def scenario(task_id: str, trial: int) -> str:
    if task_id == COUNT:
        return "model down" if trial <= 2 else "fine"
    names = ["fine"] * 4 + ["error"] * 2 + ["drop"] * 2 + ["stall"] * 2 + ["killed once", "killed"]
    name = names[trial - 1]
    # a trial that changes its site has exclusive use of it, so that no other trial is logged out
    return "expired" if name == "stall" and task_id == BIOGRAPHY else name


EXPECTED = {
    "fine": ("completed", 1.0),
    "error": ("completed", 1.0),
    "drop": ("completed", 1.0),
    "stall": ("time_limit", 0.0),
    "expired": ("completed", 0.0),
    "killed once": ("completed", 1.0),
    "killed": ("environment_error", None),
    "model down": ("completed", 1.0),
}


class Walker:
    """An agent that does its task over DevTools, after the fault of its scenario."""

    name = "walker"

    def __init__(self, world: BuiltInWorld, model: str) -> None:
        self._world = world
        self._model = model

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        name = scenario(task.task_id, context.trial)
        if name == "model down":
            asked = context.model_copy(update={"model": "openai-chat:local-1"})
            settings = AgentSettings(base_url=self._model, use_vision=False)
            limits = asked.limits.model_copy(update={"time_limit_s": 120.0})
            asked = asked.model_copy(update={"limits": limits})
            return await BrowserUseAgent(settings).run(
                task.model_copy(update={"limits": limits}), environment, asked
            )
        if name == "killed" or (name == "killed once" and context.attempt == 1):
            (group,) = context.processes.alive()
            os.killpg(group, signal.SIGKILL)
            await asyncio.Event().wait()
        if name in {"error", "drop", "stall"}:
            await self._meet(name, task.task_id, context.trial, environment)
        if name == "expired":
            self._world.sites["reddit"].expire_sessions()
        return AgentOutcome(answer=await self._do(task.task_id, environment), steps=1)

    async def _meet(self, kind: Any, task_id: str, trial: int, browser: BrowserHandle) -> None:
        """Visit a page of the site that fails, with a path of this trial only."""
        site, trap = SITES[task_id], f"/trap/{trial}"
        self._world.faults[site].switch_on(kind, trap)
        origin = "/".join(self._world.urls[site].split("/")[:3])
        await visit(browser, f"{origin}{trap}")

    async def _do(self, task_id: str, browser: BrowserHandle) -> dict[str, Any]:
        if task_id == COUNT:
            return {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [1]}
        if task_id in PAGES:
            await visit(browser, f"{self._world.urls[SITES[task_id]]}/{PAGES[task_id]}")
            return {"task_type": "NAVIGATE", "status": "SUCCESS"}
        url = f"{self._world.urls['reddit']}/user/MarvelsGrantMan136/edit_biography"
        await visit(browser, url, _TELL)
        return {"task_type": "MUTATE", "status": "SUCCESS"}


_TELL = """(() => {
  const field = document.querySelector('[name="user_biography[biography]"]');
  if (!field) return;
  field.value = 'I am a robot';
  document.documentElement.dataset.left = 'yes';
  field.form.submit();
})()"""
_READY = "document.readyState === 'complete' && !document.documentElement.dataset.left"


async def visit(browser: BrowserHandle, url: str, script: str = "true") -> None:
    """Open a page in the first tab, run a script there, and wait until what it leads to has loaded."""
    async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
        targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = await cdp.send_raw("Target.attachToTarget", {"targetId": page, "flatten": True})
        session = attached["sessionId"]
        await cdp.send_raw("Page.navigate", {"url": url}, session)
        for each in (script, "true"):
            while not await ask(cdp, session, _READY):  # noqa: ASYNC110  # asks the page
                await asyncio.sleep(0.05)
            await ask(cdp, session, each)
        await asyncio.sleep(0.5)  # the requests of the page begin


async def ask(cdp: Any, session: str, script: str) -> Any:
    question = {"expression": script, "returnByValue": True}
    try:
        answer = await cdp.send_raw("Runtime.evaluate", question, session)
    except RuntimeError:  # between two documents
        return None
    return answer["result"].get("value")


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where all temporary folders of the campaign go; Chromium's sockets need a short path."""
    import_browser_use()  # whose own folder lives as long as the process
    with tempfile.TemporaryDirectory(prefix="f-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A model server that is down for twenty seconds from its first call on, then answers."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    began: list[float] = []

    def answer(_seen: Any) -> Answer:
        began.append(time.monotonic())
        down = time.monotonic() - began[0] < DOWN_S
        return Answer(status=503, message="restarting") if down else Answer(text=_OUTPUT)

    with ModelServer(answer) as server:
        yield server.base_url("openai")


_DATA = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [1], "error_details": None}
_OUTPUT = json.dumps(
    {
        "evaluation_previous_goal": None, "memory": None, "next_goal": None, "thinking": None,
        "current_plan_item": None, "plan_update": None,
        "action": [{"done": {"success": True, "data": _DATA}}],
    }
)  # fmt: skip


def campaign(out: Path, model: str, ids: tuple[str, ...]) -> dict[tuple[str, int], Any]:
    spec = RunSpec(
        tasks=TaskFilter(ids=ids), trials=TRIALS, agent="walker", workers=2, world="built-in",
        limits=Limits(time_limit_s=TIME_LIMIT_S), attempts=2,
    )  # fmt: skip
    with built_in_world() as world:
        benchmark = WebArenaBenchmark(
            environment_of(world),
            settings=EnvironmentSettings(close_s=2.0),
        )
        run_environment = RunEnvironment(
            locks=NoLocks(),
            agent_for=lambda *_: Walker(world, model),
            agent_limits=AgentLimits(overtime_s=120.0 if COUNT in ids else 1.0, stop_s=2.0),
        )
        run_benchmark_sync(benchmark, spec, out, run_environment=run_environment)
    return {(key.task_id, key.trial): each for key, each in read_run(out).results.items()}


def processes_of(folder: Path) -> list[str]:
    """The command lines of living processes that name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


def test_all_trials_end_as_they_must_and_leave_nothing_behind(
    tmp_path: Path, scratch: Path, model: str
) -> None:
    results = campaign(tmp_path / "pages", model, (*PAGES, BIOGRAPHY))
    results |= campaign(tmp_path / "model", model, (COUNT,))

    assert len(results) == 60
    wrong = {
        (scenario(*key), key): (each.status.value, each.score)
        for key, each in results.items()
        if (each.status.value, each.score) != EXPECTED[scenario(*key)]
    }
    assert wrong == {}
    lost = [each.failure_mode for key, each in results.items() if scenario(*key) == "expired"]
    assert lost == ["login_lost", "login_lost"]
    assert processes_of(scratch) == []
    assert [path.name for path in scratch.iterdir()] == []

    if EVERY:  # it takes minutes, and says no more of one scenario than the first time does
        again = campaign(tmp_path / "again", model, (*PAGES, BIOGRAPHY))
        assert {key: (each.status, each.score) for key, each in again.items()} == {
            key: (results[key].status, results[key].score) for key in again
        }
