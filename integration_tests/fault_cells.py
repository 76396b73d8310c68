"""One trial in which a part of a benchmark fails, for the tests of the table and for the campaign.

The agent takes a step, makes a model call and then solves its task as far as the fault lets it, so that
a zero is never its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from test_support.model_server import Answer, ModelServer

from bench_core.browser import websocket_url
from bench_core.closing import Closing
from bench_core.models import Message, ModelRequest, RetryPolicy, open_model
from bench_core.playwright_driver import open_playwright
from bench_core.records import AgentOutcome, Limits, Step
from bench_core.run_folder import TrialArtifacts, read_run
from bench_core.run_spec import RunSpec, TaskFilter, Timeouts
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.testing.faults import CALL, CALL_USD
from bench_core.trial import AgentLimits
from llm_judge import Judge
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.environment import EnvironmentSettings as AppSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.states.capture import CaptureSettings
from multireal_harness.world import BuiltInWorld as AppWorld
from multireal_harness.world import load_solutions
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import EnvironmentConfig
from webarena_runner.environment import EnvironmentSettings as SiteSettings
from webarena_runner.evaluators import ForeignEvaluator
from webarena_runner.world.launch import Environment, built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from test_support.part_faults import PartFault, Phase

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentEnding, AgentTask, Task, TrialResult
    from bench_core.trial import Evaluation, Evidence, TrialEnvironment

__all__ = ["AppRig", "Cell", "SiteRig"]

_PATIENT = RetryPolicy(attempts=1, timeout_s=0.5, deadline_s=1.0)
_REFUSING = Answer(status=500)
# What is halted is given up by the trial's limit, all else by its own.
_TIME_S, _HALTED_S = 60.0, 2.0
_PATIENCE_S = 20.0
_MODEL = {
    "500": _REFUSING, "429": Answer(status=429), "nothing": Answer(reset=True),
    "garbage": Answer(raw="<html>"), "late": Answer(hang_s=30.0),
}  # fmt: skip
_SERVER = """
import json, sys, threading
if sys.argv[1] == "multireal":
    from multireal_harness.world import BuiltInWorld
    world = BuiltInWorld(); world.open()
    print(json.dumps(world.urls), flush=True)
else:
    from webarena_runner.world.launch import built_in_world
    opened = built_in_world(); world = opened.__enter__()
    accounts = world.accounts
    print(json.dumps({"sites": {
        name: {"url": url, "username": accounts[name].user, "password": accounts[name].password}
        for name, url in world.urls.items()
    }}), flush=True)
threading.Event().wait()
"""


@dataclass
class Cell:
    """One fault and all that its trial is run with.

    Attributes:
        fault: What fails and when.
        solve: Solves the task.
        strike: Makes the part fail; it is given the trial where there is one.
        delay_s: How long after its phase began a fault of the browser strikes.
    """

    fault: PartFault
    solve: Callable[[float, AgentTask, Any, TrialContext], Any]
    strike: Callable[[TrialContext | None], None]
    delay_s: float = 0.0
    model: str = ""

    @property
    def strikes_capture(self) -> bool:
        """Whether the fault strikes as the end state is read; traffic is recorded until the agent ends."""
        return self.fault.phase == "capture" and self.fault.benchmark == "multireal"

    @property
    def halts(self) -> bool:
        """Whether the agent's browser does not answer any more."""
        return self.fault.part == "browser" and self.fault.fault == "STOP"

    def run(
        self, benchmark: Any, task_id: str, out: Path, *, in_process: bool = False
    ) -> tuple[TrialResult, Path]:
        """Run the trial and return its record and its folder."""
        if self.fault.phase == "open" and self.fault.part != "browser":
            self.strike(None)
        spec = RunSpec(
            tasks=TaskFilter(ids=(task_id,)), agent="solver", world="built-in", attempts=1,
            limits=Limits(time_limit_s=_HALTED_S if self.halts else _TIME_S),
            timeouts=Timeouts(evaluation_grace_s=60.0),
        )  # fmt: skip
        run_environment = RunEnvironment(
            locks=NoLocks(),
            agent_for=lambda *_: _Solver(self, in_process=in_process),
            agent_limits=AgentLimits(overtime_s=0.2, stop_s=0.5),
            policy=Policy(attempts=1, backoff=Backoff(first_s=0.0)),
        )
        run_benchmark_sync(_Struck(benchmark, self), spec, out, run_environment=run_environment)
        view = read_run(out)
        (result,) = view.results.values()
        return result, view.trial_folder(result.key)


class _Solver:
    """Takes a step, makes a call, and solves its task; what its cell says fails in between."""

    name = "solver"

    def __init__(self, cell: Cell, *, in_process: bool) -> None:
        self._cell = cell
        self.in_process = in_process

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        cell = self._cell
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        if cell.fault.phase == "work" and cell.delay_s:
            asyncio.get_running_loop().call_later(cell.delay_s, cell.strike, context)
        elif cell.fault.phase == "work":
            cell.strike(context)
        if cell.model:
            async with open_model("openai-chat:m", base_url=cell.model, policy=_PATIENT) as model:
                request = ModelRequest(messages=(Message.user("What now?"),))
                await model.complete(request)
        outcome: AgentOutcome = await cell.solve(
            _wait_s(cell.fault, "work"), task, environment, context
        )
        if cell.fault.phase == "capture" and not cell.strikes_capture:
            cell.strike(context)
        return outcome


class _Struck:
    """A benchmark whose browser is struck while it opens, or whose helpers are before it evaluates."""

    def __init__(self, benchmark: Any, cell: Cell) -> None:
        self._benchmark = benchmark
        self._cell = cell
        self.name = benchmark.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Any
    ) -> AsyncIterator[TrialEnvironment]:
        async with AsyncExitStack() as stack:
            striking = asyncio.create_task(self._strike_opening(context))
            stack.callback(striking.cancel)
            environment = await stack.enter_async_context(
                self._benchmark.open(task, context, agent)
            )
            if self._cell.strikes_capture:
                capture = environment.capture

                async def struck(ending: AgentEnding) -> None:
                    self._cell.strike(context)
                    await capture(ending)

                environment.capture = struck
            yield environment

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        if self._cell.fault.phase == "evaluate":
            self._cell.strike(None)
        return await self._benchmark.evaluate(evidence)  # type: ignore[no-any-return]

    async def _strike_opening(self, context: TrialContext) -> None:
        fault = self._cell.fault
        if fault.phase == "open" and fault.part == "browser":
            while not context.processes.alive():  # noqa: ASYNC110  # a list that grows
                await asyncio.sleep(0.01)
            await asyncio.sleep(self._cell.delay_s)
            self._cell.strike(context)


def end_browser(fault: PartFault) -> Callable[[TrialContext | None], None]:
    """Return what ends or halts the browser of a trial from outside."""

    def strike(context: TrialContext | None) -> None:
        for group in context.processes.alive() if context is not None else ():
            os.killpg(group, signal.Signals[f"SIG{fault.fault}"])

    return strike


def _is_server(fault: PartFault) -> bool:
    return fault.part in {"app server", "site server"}


def _model_of(fault: PartFault, url: str) -> str:
    return url if fault.part == "model server" else ""


def _wait_s(fault: PartFault, phase: Phase) -> float:
    """Wait shortly for what will never come, and long for what a loaded machine is slow to give."""
    never = fault.fault in {"late", "STOP"} and fault.phase == phase
    return 4.0 if never else _PATIENCE_S


class Server(Closing):
    """A built-in world in a process of its own."""

    def __init__(self, benchmark: str) -> None:
        self._process = subprocess.Popen(  # our own interpreter
            [sys.executable, "-W", "ignore", "-c", _SERVER, benchmark],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.told: dict[str, Any] = json.loads(self._process.stdout.readline())

    def strike(self, fault: PartFault) -> None:
        """Send the signal."""
        self._process.send_signal(signal.Signals[f"SIG{fault.fault}"])
        if fault.fault != "STOP":
            self._process.wait()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class AppRig:
    """Runs cells of Multi-REAL on one built-in world."""

    task_id = "multi.dining-mail-1"
    kinds: ClassVar = {
        "500": "status",
        "429": "status",
        "nothing": "drop",
        "garbage": "garbage",
        "late": "stall",
    }

    def __init__(self) -> None:
        self.world = AppWorld()
        self.world.open()

    def close(self) -> None:
        """Stop the apps."""
        self.world.close()

    def run(self, fault: PartFault, out: Path, delay_s: float = 0.0) -> tuple[TrialResult, Path]:
        """Run the trial of one fault."""
        with ModelServer(lambda _seen: _MODEL.get(fault.fault, _REFUSING)) as models:
            try:
                return self._run(fault, out, delay_s, models.base_url("openai-chat"))
            finally:
                self.world.mend()

    def _run(
        self, fault: PartFault, out: Path, delay_s: float, model: str
    ) -> tuple[TrialResult, Path]:
        rules = EvaluationRules()
        if fault.part == "judge server":
            opened = open_model("openai-chat:judge", base_url=model, policy=_PATIENT)
            rules = EvaluationRules(judge=Judge(opened), audit=1.0)
        is_over = fault.phase == "capture" or fault.part in {"app server", "browser"}
        capture = CaptureSettings(app_s=1.0 if is_over else _PATIENCE_S, quiet_s=0.2, spare_s=5.0)
        settings = AppSettings(
            track=False, open_s=_wait_s(fault, "open"), stalled_s=0.5, capture=capture
        )
        with ExitStack() as stack:
            server = stack.enter_context(Server("multireal")) if _is_server(fault) else None
            origins = server.told if server else self.world.urls
            benchmark = MultiRealBenchmark(
                "built-in", origins=origins, rules=rules, settings=settings
            )
            cell = Cell(
                fault, _solve_apps, self._strike(fault, server), delay_s, _model_of(fault, model)
            )
            return cell.run(benchmark, self.task_id, out, in_process=fault.part != "browser")

    def _strike(
        self, fault: PartFault, server: Server | None
    ) -> Callable[[TrialContext | None], None]:
        if fault.part == "browser":
            return end_browser(fault)
        if server is not None:
            return lambda _: server.strike(fault)
        if fault.part != "app":
            return lambda _: None
        path = {"capture": "/finish", "work": "/menu"}.get(fault.phase, "/")
        status = int(fault.fault) if fault.fault.isdigit() else 0
        return lambda _: self.world.fail("dining", self.kinds[fault.fault], path, value=status)  # type: ignore[arg-type]


async def _solve_apps(
    wait_s: float, task: AgentTask, environment: Any, context: TrialContext
) -> AgentOutcome:
    """Open a page of the first app; where it opens, do the task."""
    from playwright.async_api import Error

    if environment.live.browser.alone:  # as an agent that is handed a URL
        async with open_playwright("this agent") as driver:
            browser = await driver.chromium.connect_over_cdp(environment.cdp_url)
            await browser.contexts[0].new_page()
    page = await environment.live.browser.context.new_page()
    try:
        answer = await page.goto(f"{environment.start_urls[0]}/menu", timeout=wait_s * 1000)
    except Error:
        return AgentOutcome(steps=1)
    if answer is None or not answer.ok:
        return AgentOutcome(steps=1)
    await page.close()
    solution = load_solutions(task.task_id.removeprefix("multi."))[0]
    done = await ScriptedAgent(solution).run(task, environment, context)
    return done.model_copy(update={"steps": 1})


class SignalledEvaluator(ForeignEvaluator):
    """An evaluator whose process gets a signal while it has a question.

    One that is dead before is started again, and evaluates.
    """

    signal_next: signal.Signals | None = None

    def result(self, *question: Any) -> dict[str, Any]:
        """Evaluate, as far as the process comes."""
        number, self.signal_next = self.signal_next, None
        if number is not None:
            os.kill(self.pid, signal.SIGSTOP)
            threading.Timer(0.5, os.kill, [self.pid, number]).start()
        return super().result(*question)


class SiteRig:
    """Runs cells of WebArena on one set of built-in sites."""

    task_id = "44"
    deep_task_id = "615"
    path = "/dashboard/todos"
    kinds: ClassVar = {
        "500": "error",
        "429": "busy",
        "nothing": "drop",
        "garbage": "garbage",
        "cut": "cut",
        "late": "stall",
    }

    def __init__(self) -> None:
        self._opened = built_in_world()
        self.world = self._opened.__enter__()

    def close(self) -> None:
        """Stop the sites."""
        self._opened.__exit__(None, None, None)

    def run(self, fault: PartFault, out: Path, delay_s: float = 0.0) -> tuple[TrialResult, Path]:
        """Run the trial of one fault."""
        with ModelServer(lambda _seen: _MODEL.get(fault.fault, _REFUSING)) as models:
            try:
                return self._run(fault, out, delay_s, models.base_url("openai-chat"))
            finally:
                for board in self.world.faults.values():
                    board.clear()

    def _run(
        self, fault: PartFault, out: Path, delay_s: float, model: str
    ) -> tuple[TrialResult, Path]:
        asked: Phase = "open"
        if _is_server(fault):  # sites are asked at the end, too
            asked = fault.phase
        settings = SiteSettings(
            site_s=_wait_s(fault, asked), start_page_s=_wait_s(fault, "open"), close_s=0.5,
            stop_recorder_s=1.0,
        )  # fmt: skip
        with ExitStack() as stack:
            sites, server = environment_of(self.world), None
            if _is_server(fault):
                server = stack.enter_context(Server("webarena"))
                sites = Environment(EnvironmentConfig.model_validate(server.told), shared=False)
            evaluator = None
            if fault.part == "evaluator":
                foreign = SignalledEvaluator(Path(sys.executable), patience_s=1.5)
                evaluator = stack.enter_context(foreign)
            benchmark = WebArenaBenchmark(sites, settings=settings, evaluator=evaluator)
            url = f"{sites.config.site('gitlab').url}{self.path}"
            cell = Cell(
                fault, partial(_solve_sites, url), self._strike(fault, server, evaluator),
                delay_s, _model_of(fault, model),
            )  # fmt: skip
            task_id = self.deep_task_id if fault.part == "start page" else self.task_id
            return cell.run(benchmark, task_id, out)

    def _strike(
        self, fault: PartFault, server: Server | None, evaluator: SignalledEvaluator | None
    ) -> Callable[[TrialContext | None], None]:
        if fault.part == "browser":
            return end_browser(fault)
        if server is not None:
            return lambda _: server.strike(fault)
        if evaluator is not None:
            number = signal.Signals[f"SIG{fault.fault}"]
            return lambda _: setattr(evaluator, "signal_next", number)
        if fault.part == "start page":  # of a task that begins below its site
            return lambda _: self.world.faults["reddit"].switch_on(
                self.kinds[fault.fault], "/f/pics"
            )  # type: ignore[arg-type]
        if fault.part != "site":
            return lambda _: None
        path = self.path if fault.phase == "work" else "/"
        return lambda _: self.world.faults["gitlab"].switch_on(self.kinds[fault.fault], path)  # type: ignore[arg-type]


async def _solve_sites(
    url: str, wait_s: float, task: AgentTask, environment: Any, context: TrialContext
) -> AgentOutcome:
    """Open the page that the task asks for and say so, whatever came of it."""
    from cdp_use.client import CDPClient

    del task, context
    async with CDPClient(await websocket_url(environment.cdp_url)) as cdp:
        targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        order = {"targetId": page, "flatten": True}
        session = (await cdp.send_raw("Target.attachToTarget", order))["sessionId"]
        opening = asyncio.create_task(cdp.send_raw("Page.navigate", {"url": url}, session))
        await asyncio.wait({opening}, timeout=wait_s)
        await asyncio.sleep(0.2)
        opening.cancel()
        with suppress(asyncio.CancelledError, RuntimeError, ConnectionError):
            await opening
    answer = {"task_type": "NAVIGATE", "status": "SUCCESS"}
    return AgentOutcome(answer=answer, steps=1)
